/// How much a client may send before it is refused.
public struct HTTPLimits: Sendable {
    /// Over it: 414. RFC 9112, section 3, asks for 8,000 at least; a query may carry a signed token of some kilobytes.
    public var maxRequestLineBytes = 8 * 1024
    /// Request line and fields together, or the trailer; over it: 431. Room for a browser's cookies and two tokens.
    public var maxHeadBytes = 32 * 1024
    /// Over it: 431. Browsers send about twenty, a chain of proxies adds ten.
    public var maxHeaders = 100
    /// Over it: `bodyTooLarge`, 413. The contract's limit for every route.
    public var maxBodyBytes = 1024 * 1024
    /// Over it, `largeBody` asks whether the body is to be taken, before it is kept: bodies of those who have not said who they are can
    /// be kept small.
    public var maxUnaskedBodyBytes = 16 * 1024
    /// How much of a body that is too large is read and dropped, so that a client which writes it all before it reads
    /// gets to see the 413. The lines of chunks count. Beyond it the connection is closed, which such a client sees as
    /// a reset.
    public var maxDrainBytes = 16 * 1024 * 1024
    /// A chunk's size with its extensions; over it: 400. Sizes need 16 bytes, and nobody uses extensions.
    public var maxChunkLineBytes = 256
    /// All the extensions in a body; over it: 400. Without it a body of tiny chunks could hide a flood of them.
    public var maxChunkExtensionBytes = 16 * 1024

    public init() {}
}
