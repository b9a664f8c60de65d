// defines: assertion_failed
// Say which tl.device_assert failed, where, and end the launch with an error. Called by one thread for itself.
__device__ __noinline__ void assertion_failed(const char* message, const char* file, int line)
{
    printf(
        "%s:%d: tl.device_assert failed: %s (CTA %d, %d, %d, thread %d)\n",
        file, line, message, (int)blockIdx.x, (int)blockIdx.y, (int)blockIdx.z, (int)threadIdx.x
    );
    __trap();
}
