public final class OSAllocatedUnfairLock<State>: Sendable {
    public init(initialState: State) where State: Sendable {}
    public func withLock<R: Sendable>(_ body: @Sendable (inout State) throws -> R) rethrows -> R { fatalError() }
}
