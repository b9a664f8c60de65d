// Arithmetic in a given rounding direction. Compiled with -frounding-math, apart from everything else.
#include <fenv.h>
#include <math.h>

#include "../include/tle2cuda_emulator/abi.h"

namespace tle2cuda_emulator {

namespace {

class Direction {
public:
    explicit Direction(unsigned rounding) : is_other_(rounding != ROUND_NEAREST)
    {
        static constexpr int MODES[] = {FE_TONEAREST, FE_TOWARDZERO, FE_UPWARD, FE_DOWNWARD};
        if (is_other_) fesetround(MODES[rounding]);
    }
    ~Direction()
    {
        if (is_other_) fesetround(FE_TONEAREST);
    }

private:
    bool is_other_;
};

template <class T>
T rounded(unsigned operation, unsigned rounding, T a_, T b_, T c_)
{
    const Direction direction(rounding);
    volatile T a = a_, b = b_, c = c_;  // not computed before the direction is set
    volatile T result;
    switch (operation) {
        case ROUNDED_ADD: result = a + b; break;
        case ROUNDED_SUB: result = a - b; break;
        case ROUNDED_MUL: result = a * b; break;
        case ROUNDED_DIV: result = a / b; break;
        case ROUNDED_FMA: result = fma(a, b, c); break;
        default: result = sqrt(a); break;
    }
    return result;
}

template <>
float rounded<float>(unsigned operation, unsigned rounding, float a_, float b_, float c_)
{
    const Direction direction(rounding);
    volatile float a = a_, b = b_, c = c_;
    volatile float result;
    switch (operation) {
        case ROUNDED_ADD: result = a + b; break;
        case ROUNDED_SUB: result = a - b; break;
        case ROUNDED_MUL: result = a * b; break;
        case ROUNDED_DIV: result = a / b; break;
        case ROUNDED_FMA: result = fmaf(a, b, c); break;
        default: result = sqrtf(a); break;
    }
    return result;
}

}  // namespace

extern "C" float tle2cuda_rounded_float(unsigned operation, unsigned rounding, float a, float b, float c)
{
    return rounded<float>(operation, rounding, a, b, c);
}

extern "C" double tle2cuda_rounded_double(unsigned operation, unsigned rounding, double a, double b, double c)
{
    return rounded<double>(operation, rounding, a, b, c);
}

extern "C" float tle2cuda_rounded_narrow(double value, unsigned rounding)
{
    const Direction direction(rounding);
    volatile double input = value;
    volatile float result = static_cast<float>(input);
    return result;
}

}  // namespace tle2cuda_emulator
