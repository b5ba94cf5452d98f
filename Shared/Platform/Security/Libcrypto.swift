import CCrypto

public enum Libcrypto {
    /// Leaves the library as it is when the process ends. Before anything else of this module, once for a program that has threads.
    ///
    /// By default libcrypto frees what it holds in `exit`, beside threads that are ending and free their own part of it, or still use it
    /// (OPENSSL_init_crypto(3), "OPENSSL_INIT_NO_ATEXIT").
    public static func outlivesExit() {
        // It fails only where there is no memory, and then with the first real call, too.
        OPENSSL_init_crypto(UInt64(OPENSSL_INIT_NO_ATEXIT), nil)
    }
}
