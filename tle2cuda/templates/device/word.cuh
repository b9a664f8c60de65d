// defines: word
// The machine word that moves BYTES bytes at once: Word<16>::Type is uint4.
template <int BYTES>
struct Word;
template <>
struct Word<1> { using Type = unsigned char; };
template <>
struct Word<2> { using Type = unsigned short; };
template <>
struct Word<4> { using Type = unsigned; };
template <>
struct Word<8> { using Type = uint2; };
template <>
struct Word<16> { using Type = uint4; };
// defines: words
// needs: word vector
// How a vector splits into words: COUNT words of up to 16 bytes.
template <typename T, int N>
struct Words {
    static constexpr int BYTES = sizeof(T) * N;
    static constexpr int COUNT = BYTES < 16 ? 1 : BYTES / 16;
    using Type = typename Word<BYTES / COUNT>::Type;
};
