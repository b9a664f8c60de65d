// Integer divisions that x86-64 refuses. A GPU goes on behind a division by zero, or of the least integer by -1, and lanes whose
// result a mask drops come to such divisions in kernels that are right: so does a thread here.
#include <string.h>
#include <ucontext.h>

#include "model.h"

namespace tle2cuda_emulator {

#if defined(__x86_64__)

namespace {

// General registers by the numbers that instructions give them.
constexpr int REGISTERS[16] = {REG_RAX, REG_RCX, REG_RDX, REG_RBX, REG_RSP, REG_RBP, REG_RSI, REG_RDI,
                               REG_R8,  REG_R9,  REG_R10, REG_R11, REG_R12, REG_R13, REG_R14, REG_R15};

struct Division {
    bool is_signed;
    unsigned bits;
    uint64_t divisor;
    uintptr_t next;  // the instruction behind it
};

uint64_t ones(unsigned bits) { return ~uint64_t(0) >> (64 - bits); }

// Reads an instruction from its first byte on. The processor has read all of it, and the operand, before it faulted.
class Decoder {
public:
    explicit Decoder(const greg_t* registers)
        : registers_(registers), at_(reinterpret_cast<const unsigned char*>(registers[REG_RIP]))
    {
    }

    // False when it is no `div` or `idiv` with a form of address that we know (segments and short addresses we do not).
    bool decode(Division& division)
    {
        const bool has_short_operand = *at_ == 0x66;
        if (has_short_operand) ++at_;
        if ((*at_ & 0xf0) == 0x40) rex_ = *at_++;
        const unsigned opcode = *at_++;
        if (opcode != 0xf6 && opcode != 0xf7) return false;
        const unsigned modrm = *at_++, mode = modrm >> 6, kind = modrm >> 3 & 7;
        if (kind != 6 && kind != 7) return false;
        division.is_signed = kind == 7;
        division.bits = opcode == 0xf6 ? 8 : rex_ & 8 ? 64 : has_short_operand ? 16 : 32;
        division.divisor = 0;
        if (mode == 3) {
            division.divisor = register_operand(modrm & 7, division.bits);
        } else {
            const uintptr_t address = memory_operand(mode, modrm & 7);
            memcpy(&division.divisor, reinterpret_cast<const void*>(address), division.bits / 8);
        }
        division.next = reinterpret_cast<uintptr_t>(at_);
        return true;
    }

private:
    uint64_t whole(unsigned number) const { return static_cast<uint64_t>(registers_[REGISTERS[number]]); }
    unsigned extended(unsigned number, unsigned bit) const { return number | (rex_ & bit ? 8u : 0u); }

    uint64_t register_operand(unsigned number, unsigned bits) const
    {
        // Without a REX prefix, bytes 4 to 7 are the second ones of the first four registers.
        if (bits == 8 && !rex_ && number >= 4) return whole(number - 4) >> 8 & 0xff;
        return whole(extended(number, 1)) & ones(bits);
    }

    template <class Displacement>
    uint64_t displacement()
    {
        Displacement value;
        memcpy(&value, at_, sizeof value);
        at_ += sizeof value;
        return static_cast<uint64_t>(int64_t(value));
    }

    uintptr_t memory_operand(unsigned mode, unsigned number)
    {
        if (mode == 0 && number == 5) {
            const uint64_t offset = displacement<int32_t>();
            return reinterpret_cast<uintptr_t>(at_) + offset;  // of the instruction behind: nothing follows the displacement
        }
        uint64_t address = 0;
        bool has_base = true;
        if (number == 4) {
            const unsigned sib = *at_++, index = extended(sib >> 3 & 7, 2);
            if (index != 4) address = whole(index) << (sib >> 6);
            number = sib & 7;
            has_base = mode != 0 || number != 5;
        }
        if (has_base) address += whole(extended(number, 1));
        if (mode == 1) return address + displacement<int8_t>();
        return mode == 2 || !has_base ? address + displacement<int32_t>() : address;
    }

    const greg_t* registers_;
    const unsigned char* at_;
    unsigned rex_ = 0;
};

// Replaces the low bits of a register; 32 of them clear the others, as the processor does.
void put(greg_t& whole, unsigned bits, uint64_t value)
{
    const uint64_t kept = bits == 32 ? 0 : static_cast<uint64_t>(whole) & ~ones(bits);
    whole = static_cast<greg_t>(kept | (value & ones(bits)));
}

}  // namespace

bool finish_division(void* state)
{
    auto& registers = static_cast<ucontext_t*>(state)->uc_mcontext.gregs;
    Division division;
    if (!in_kernel(static_cast<uintptr_t>(registers[REG_RIP])) || !Decoder(registers).decode(division)) return false;
    const unsigned bits = division.bits;
    const auto a = static_cast<uint64_t>(registers[REG_RAX]), d = static_cast<uint64_t>(registers[REG_RDX]);
    const uint64_t low = a & ones(bits), high = (bits == 8 ? a >> 8 : d) & ones(bits);
    // By zero PTX leaves the results open. A GPU gives all ones for `/`; for `%` the dividend where the quotient is needed, too,
    // and all ones otherwise. Here it is the dividend, as in the interpreter: one instruction gives both.
    uint64_t quotient = ~uint64_t(0), remainder = low;
    if (division.divisor != 0) {
        const uint64_t least = uint64_t(1) << (bits - 1);
        const bool is_least_by_minus_1 =
            division.is_signed && division.divisor == ones(bits) && low == least && high == ones(bits);
        if (!is_least_by_minus_1) return false;  // no division of C++ overflows otherwise
        quotient = least;
        remainder = 0;
    }
    if (bits == 8) {
        put(registers[REG_RAX], 16, remainder << 8 | (quotient & 0xff));
    } else {
        put(registers[REG_RAX], bits, quotient);
        put(registers[REG_RDX], bits, remainder);
    }
    registers[REG_RIP] = static_cast<greg_t>(division.next);
    return true;
}

#else

bool finish_division(void*) { return false; }

#endif

}  // namespace tle2cuda_emulator
