#if canImport(os)
    import os
#else
    import Synchronization
#endif

/// A small value that any thread may read and change: nothing is awaited, called back or resumed while it is held.
///
/// The platform's own lock: `Mutex` would ask for iOS 18, and Linux has no other that the compiler checks.
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
