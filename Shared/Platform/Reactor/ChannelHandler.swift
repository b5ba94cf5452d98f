/// The owner of a connection, which handles its events. All calls come on the connection's loop,
/// one at a time.
///
/// To enter an actor that lives on that loop, a nonisolated method calls `assumeIsolated`.
public protocol ChannelHandler: AnyObject {
    /// Bytes arrived. They lie in the loop's buffer, which is good until this returns: what is not consumed is to be
    /// copied. At most one call a turn, of at most 64 KiB, so that a busy connection does not starve the others.
    func channel(_ channel: Channel, received bytes: sending UnsafeRawBufferPointer)

    /// Everything written so far has gone to the kernel: go on writing, if a limit made you wait.
    func channelDidDrain(_ channel: Channel)

    /// The kernel took less than was written, as the peer does not read: the rest is held here until `channelDidDrain`. Called again
    /// when it took a part of it.
    func channelDidStall(_ channel: Channel)

    /// The peer has sent its last byte, and may still read. Unless this is implemented, the channel closes, after what is
    /// pending has been written.
    func channelPeerDidFinish(_ channel: Channel)

    /// The last call, exactly once for a channel that was not detached. It never comes out of a call to the channel, but
    /// at the end of the turn.
    func channelDidClose(_ channel: Channel, reason: CloseReason)
}

extension ChannelHandler {
    public func channelDidDrain(_ channel: Channel) {}
    public func channelDidStall(_ channel: Channel) {}
    public func channelPeerDidFinish(_ channel: Channel) { channel.close() }
}

/// The reason why a connection ended.
public enum CloseReason: Hashable, Sendable {
    /// By `close()`, after all that was pending was written.
    case closed
    /// The peer finished, and so did we.
    case peerClosed
    /// By `abort()`.
    case aborted
    /// By `close()`, but the peer did not take what was pending within `Channel.closeTimeout`.
    case closeTimedOut
    /// A reset, a time-out of TCP, or another failure of the socket.
    case failed(SystemError)
    /// The group was shut down.
    case loopStopped
}
