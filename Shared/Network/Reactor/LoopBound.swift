/// An object that belongs to a loop, in the hands of code that may run anywhere.
///
/// Only on its loop can it be taken out, which is checked: that makes this safe to share. The last reference may be let
/// go of anywhere, so the object's `deinit` must not rely on the loop.
public struct LoopBound<Object: AnyObject>: @unchecked Sendable {
    public let loop: EventLoop
    private let bound: Object

    /// On the loop only.
    public init(_ object: Object, to loop: EventLoop) {
        loop.preconditionCurrent()
        self.loop = loop
        bound = object
    }

    /// On the loop only.
    public var object: Object {
        loop.preconditionCurrent()
        return bound
    }
}

/// Two are equal if they carry the same object. Comparing them is allowed anywhere.
extension LoopBound: Hashable {
    public static func == (left: LoopBound, right: LoopBound) -> Bool { left.bound === right.bound }
    public func hash(into hasher: inout Hasher) { hasher.combine(ObjectIdentifier(bound)) }
}
