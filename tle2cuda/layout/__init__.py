"""The algebra of layouts: which thread and register holds which element, and where shared memory keeps it.

Everything is a linear map over F2 between bits (of register, lane, warp; of coordinates; of offsets), so
equality, composition, conversions, replication, vector width and bank conflicts are Gaussian elimination on
machine words (`f2`).
"""

from __future__ import annotations

from .blocked import blocked, coalesced, scan_layout, sort_layout
from .conversions import Conversion, ShuffleRound, ThreadMap, conversion
from .distributed import LANE_BITS, Layout, axis_unit, flatten, unflatten
from .errors import LayoutError
from .exchanges import Exchange, Trade, trade, with_vectors
from .expressions import (
    IndexExpression,
    Term,
    fields,
    flat_fields,
    format_index,
    format_xor,
    linear_terms,
)
from .fragments import (
    mma_accumulator,
    mma_operand_a,
    mma_operand_b,
    wgmma_accumulator,
    wgmma_operand_a,
)
from .matrix_access import MatrixAccess, matrix_access
from .mma import (
    MMA_INSTRUCTIONS,
    MX_E2M1,
    NV_E2M1,
    SCALES_OF_STEP,
    TENSOR_COLUMNS,
    TENSOR_LANES,
    MmaInstruction,
    mma_operand,
    mma_sums,
    scaled_mma,
    tensor_block,
    wgmma_columns,
    whole_sums,
)
from .operands import (
    DescriptorForm,
    MatrixForm,
    descriptor_form,
    descriptor_offsets,
    matrix_conflicts,
    matrix_form,
    operand_offsets,
)
from .products import outer_product
from .reductions import Reduction, ReductionStep, reduction
from .scales import (
    BYTES_OF_BLOCK,
    BYTES_OF_STEP,
    COLUMNS_OF_BLOCK,
    SCALES_OF_WORD,
    TENSOR_ROWS_OF_SCALES,
    scale_columns,
    scale_offsets,
    scale_words,
    whole_scales,
)
from .shared import (
    SharedLayout,
    access_fields,
    access_offsets,
    access_phases,
    bank_conflict_degree,
    best_vector,
    swizzle_address,
    vector_groups,
    widest_vector,
)
from .shared_choice import shared_offset_map
from .views import CoordMap, register_map

__all__ = [
    "BYTES_OF_BLOCK",
    "BYTES_OF_STEP",
    "COLUMNS_OF_BLOCK",
    "LANE_BITS",
    "MMA_INSTRUCTIONS",
    "MX_E2M1",
    "NV_E2M1",
    "SCALES_OF_STEP",
    "SCALES_OF_WORD",
    "TENSOR_COLUMNS",
    "TENSOR_LANES",
    "TENSOR_ROWS_OF_SCALES",
    "Conversion",
    "CoordMap",
    "DescriptorForm",
    "Exchange",
    "IndexExpression",
    "Layout",
    "LayoutError",
    "MatrixAccess",
    "MatrixForm",
    "MmaInstruction",
    "Reduction",
    "ReductionStep",
    "SharedLayout",
    "ShuffleRound",
    "Term",
    "ThreadMap",
    "Trade",
    "access_fields",
    "access_offsets",
    "access_phases",
    "axis_unit",
    "bank_conflict_degree",
    "best_vector",
    "blocked",
    "coalesced",
    "conversion",
    "descriptor_form",
    "descriptor_offsets",
    "fields",
    "flat_fields",
    "flatten",
    "format_index",
    "format_xor",
    "linear_terms",
    "matrix_access",
    "matrix_conflicts",
    "matrix_form",
    "mma_accumulator",
    "mma_operand",
    "mma_operand_a",
    "mma_operand_b",
    "mma_sums",
    "operand_offsets",
    "outer_product",
    "reduction",
    "register_map",
    "scale_columns",
    "scale_offsets",
    "scale_words",
    "scaled_mma",
    "scan_layout",
    "shared_offset_map",
    "sort_layout",
    "swizzle_address",
    "tensor_block",
    "trade",
    "unflatten",
    "vector_groups",
    "wgmma_accumulator",
    "wgmma_columns",
    "wgmma_operand_a",
    "whole_scales",
    "whole_sums",
    "widest_vector",
    "with_vectors",
]
