"""`triton.compiler.errors`: what a wrong kernel raises."""

from tle2cuda.errors import CompilationError, KernelError
from tle2cuda.errors import StaticAssertFailed as CompileTimeAssertionFailure
from tle2cuda.errors import UnsupportedSyntax as UnsupportedLanguageConstruct

TritonError = KernelError

__all__ = ["CompilationError", "CompileTimeAssertionFailure", "TritonError", "UnsupportedLanguageConstruct"]
