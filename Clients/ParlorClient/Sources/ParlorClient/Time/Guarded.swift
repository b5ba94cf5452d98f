#if canImport(os)
    import os
#else
    import Synchronization
#endif

/// A small value behind a lock. While the lock is held, nothing may be called back or resumed.
///
/// On Apple's systems this is an unfair lock, because `Mutex` needs iOS 18. On Linux it is `Mutex`, the only lock there
/// that the compiler checks.
package final class Guarded<Value: Sendable>: Sendable {
    #if canImport(os)
        private let lock: OSAllocatedUnfairLock<Value>

        package init(_ value: Value) { lock = OSAllocatedUnfairLock(initialState: value) }

        package func withLock<Result: Sendable>(
            _ body: @Sendable (inout Value) throws -> Result
        ) rethrows -> Result {
            try lock.withLock(body)
        }
    #else
        private let lock: Mutex<Value>

        package init(_ value: Value) { lock = Mutex(value) }

        package func withLock<Result: Sendable>(
            _ body: @Sendable (inout Value) throws -> Result
        ) rethrows -> Result {
            try lock.withLock { try body(&$0) }
        }
    #endif
}
