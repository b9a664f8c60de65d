// Stands in for what NVRTC and nvcc include before every file: force-included in front of emulated kernels.
#pragma once

#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmath>
#include <type_traits>
#include <utility>

#include "tle2cuda_emulator/abi.h"
#include "tle2cuda_emulator/atomics.h"
#include "tle2cuda_emulator/barriers.h"
#include "tle2cuda_emulator/device_functions.h"
#include "tle2cuda_emulator/entry.h"
#include "tle2cuda_emulator/keywords.h"
#include "tle2cuda_emulator/math.h"
#include "tle2cuda_emulator/ptx.h"
#include "tle2cuda_emulator/ptx_steps.h"
#include "tle2cuda_emulator/shared.h"
#include "tle2cuda_emulator/vector_types.h"
#include "tle2cuda_emulator/warp.h"

#include "tle2cuda_emulator/conversions.h"
