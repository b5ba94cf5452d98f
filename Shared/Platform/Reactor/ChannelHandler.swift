/// The owner of a connection, which handles its events. All calls are made on the connection's loop, one at a
/// time.
///
/// To enter an actor that lives on that loop, a nonisolated method calls `assumeIsolated`.
public protocol ChannelHandler: AnyObject {
    /// Handles received bytes. They are in the loop's buffer, which is valid until this returns, so bytes
    /// that are not consumed must be copied. Called at most once a turn for input from the socket, with at
    /// most 64 KiB, so that a busy connection does not starve the others.
    func channel(_ channel: Channel, received bytes: sending UnsafeRawBufferPointer)

    /// Called when everything written so far has gone to the kernel. A handler that waited because of a limit
    /// can write again.
    func channelDidDrain(_ channel: Channel)

    /// Called when the kernel took less than was written, as the peer does not read. The channel keeps the rest
    /// until `channelDidDrain`. Called again each time that the kernel took only a part of it.
    func channelDidStall(_ channel: Channel)

    /// Called when the peer has sent its last byte; it may still read. By default the channel closes, after
    /// the unsent output has been written.
    func channelPeerDidFinish(_ channel: Channel)

    /// The last call, made exactly once for a channel that was not detached. It is never made during a call
    /// to the channel, but at the end of the turn.
    func channelDidClose(_ channel: Channel, reason: CloseReason)
}

extension ChannelHandler {
    public func channelDidDrain(_ channel: Channel) {}
    public func channelDidStall(_ channel: Channel) {}
    public func channelPeerDidFinish(_ channel: Channel) { channel.close() }
}

/// The reason why a connection ended.
public enum CloseReason: Hashable, Sendable {
    /// `close()` was called, and all unsent output was written.
    case closed
    /// Both sides have finished.
    case peerClosed
    /// `abort()` was called.
    case aborted
    /// `close()` was called, and the peer did not take the unsent output within `Channel.closeTimeout`.
    case closeTimedOut
    /// A reset, a time-out of TCP, or another failure of the socket.
    case failed(SystemError)
    /// The group was shut down.
    case loopStopped
}
