"""`triton.compiler`: compiling ahead of time."""

from tle2cuda.triton.compiler import compiler, errors
from tle2cuda.triton.compiler.compiler import ASTSource, CompiledKernel, compile, make_backend
from tle2cuda.triton.compiler.errors import CompilationError

__all__ = ["ASTSource", "CompilationError", "CompiledKernel", "compile", "compiler", "errors", "make_backend"]
