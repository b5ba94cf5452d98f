/// Parses the messages of one connection (RFC 6455): bytes in, events out, no socket.
///
/// The events do not depend on how the bytes are split. `append` all that arrives, then call `next` until it
/// returns nil. Frames are unmasked and checked as they arrive, so a message is refused at its first wrong
/// byte. Between messages the parser holds no memory.
public struct WebSocketParser: Sendable {
    /// The end of the connection on which it runs.
    public enum Role: Sendable {
        /// The server, which accepts masked frames only.
        case server
        /// The client, which accepts unmasked frames only.
        case client
    }

    /// The default limit of a message, as large as a body over HTTP may be.
    public static let defaultMaxMessageBytes = 1024 * 1024
    /// The default limit of small fragments: more than clients that write a message piece by piece
    /// need.
    public static let defaultMaxSmallFragments = 1024
    /// The size below which a fragment is small. Larger fragments are bounded by the limit in bytes: a message of
    /// 1 MiB in fragments of just this size takes 7 ms to read. No memory is kept per fragment.
    public static let smallFragmentBytes = 16

    private enum State {
        case open
        case closed
        case failed(WebSocketError)
    }

    private let role: Role
    /// The limit of a message, all fragments together. A longer one fails the connection with 1009, as soon
    /// as a frame announces it. A change applies from the next frame on.
    public var maxMessageBytes: Int
    private let maxSmallFragments: Int
    private var state = State.open
    private var input = WebSocketInput()

    /// The frame whose payload is being read, followed by the number of bytes read.
    private var frame: WebSocketFrameHeader?
    private var payloadBytes = 0

    /// The kind of the message whose fragments are being combined: text or binary.
    private var messageOpcode: WebSocketOpcode?
    private var message: [UInt8] = []
    private var smallFragments = 0
    private var utf8 = UTF8Validator()
    /// The payload of a control frame, which may come in the middle of a message.
    private var control: [UInt8] = []

    /// - Parameters:
    ///   - maxMessageBytes: the limit of a message, as in the property.
    ///   - maxSmallFragments: the number of frames of a message that may have fewer bytes than
    ///     `smallFragmentBytes`; more fail the connection with 1009. Without it the number of empty frames would
    ///     be unbounded.
    public init(
        role: Role, maxMessageBytes: Int = Self.defaultMaxMessageBytes,
        maxSmallFragments: Int = Self.defaultMaxSmallFragments
    ) {
        self.role = role
        self.maxMessageBytes = maxMessageBytes
        self.maxSmallFragments = maxSmallFragments
    }

    /// Appends received bytes. After a close frame or an error, they are dropped (section 5.5.1).
    public mutating func append(_ bytes: UnsafeRawBufferPointer) {
        if case .open = state { input.append(bytes) }
    }

    public mutating func append(_ bytes: some Collection<UInt8>) {
        Array(bytes).withUnsafeBytes { append($0) }
    }

    /// The number of held bytes: those not used yet, and the incomplete message.
    public var bufferedBytes: Int { input.count + message.count + control.count }

    /// True if `next` may return another event before more bytes arrive.
    public var hasInput: Bool { input.count > 0 }

    /// Returns the next event, or nil if more bytes are needed. After a close frame it always returns nil.
    ///
    /// - Throws: the reason why the connection has to fail. Every later call throws the same.
    public mutating func next() throws(WebSocketError) -> WebSocketEvent? {
        switch state {
        case .open: break
        case .closed: return nil
        case .failed(let error): throw error
        }
        do throws(WebSocketError) {
            while true {
                if frame == nil, try !beginFrame() { return nil }
                guard let frame else { return nil }
                try readPayload(of: frame)
                guard payloadBytes == frame.payloadLength else { return nil }
                self.frame = nil
                if let event = try endFrame(frame) { return event }
            }
        } catch {
            end(in: .failed(error))
            throw error
        }
    }

    private mutating func end(in state: State) {
        self = WebSocketParser(role: role, maxMessageBytes: maxMessageBytes, maxSmallFragments: maxSmallFragments)
        self.state = state
    }

    // MARK: Frames

    /// Reads a header, and checks it against the frames before it. Returns true if it was complete.
    private mutating func beginFrame() throws(WebSocketError) -> Bool {
        guard let header = try input.header(for: role) else { return false }
        _ = input.take(atMost: header.byteCount)
        frame = header
        payloadBytes = 0
        if header.opcode.isControl { return true }

        if header.opcode == .continuation {
            guard messageOpcode != nil else { throw .breach("a continuation of no message") }
        } else {
            guard messageOpcode == nil else { throw .breach("a new message inside another") }
            messageOpcode = header.opcode
        }
        guard header.payloadLength <= maxMessageBytes - message.count else {
            throw .tooBig("the message is larger than \(maxMessageBytes) bytes")
        }
        if header.payloadLength < Self.smallFragmentBytes { smallFragments += 1 }
        guard smallFragments <= maxSmallFragments else {
            throw .tooBig(
                "the message has more than \(maxSmallFragments) fragments under \(Self.smallFragmentBytes) bytes")
        }
        return true
    }

    private mutating func readPayload(of frame: WebSocketFrameHeader) throws(WebSocketError) {
        let piece = input.take(atMost: frame.payloadLength - payloadBytes)
        guard !piece.isEmpty else { return }
        if frame.opcode.isControl {
            Self.append(piece, of: frame, offset: payloadBytes, to: &control)
        } else {
            let start = message.count
            Self.append(piece, of: frame, offset: payloadBytes, to: &message)
            if messageOpcode == .text {
                let isValid = message.withUnsafeBytes { utf8.accept(UnsafeRawBufferPointer(rebasing: $0[start...])) }
                guard isValid else { throw .notUTF8 }
            }
        }
        payloadBytes += piece.count
    }

    private static func append(
        _ piece: ArraySlice<UInt8>, of frame: WebSocketFrameHeader, offset: Int, to bytes: inout [UInt8]
    ) {
        let start = bytes.count
        bytes.append(contentsOf: piece)
        guard let mask = frame.mask else { return }
        bytes.withUnsafeMutableBytes {
            WebSocketMask.apply(mask, offset: offset, to: UnsafeMutableRawBufferPointer(rebasing: $0[start...]))
        }
    }

    private mutating func endFrame(_ frame: WebSocketFrameHeader) throws(WebSocketError) -> WebSocketEvent? {
        if frame.opcode.isControl {
            let payload = control
            control = []
            switch frame.opcode {
            case .ping: return .ping(payload)
            case .pong: return .pong(payload)
            default: return try close(payload)
            }
        }
        guard frame.isFinal, let opcode = messageOpcode else { return nil }
        if opcode == .text, !utf8.isComplete { throw .notUTF8 }
        let whole = message
        message = []
        messageOpcode = nil
        smallFragments = 0
        return opcode == .text ? .text(whole) : .binary(whole)
    }

    // MARK: Close

    /// Parses a close frame's payload: empty, or a code and a reason in UTF-8 (section 5.5.1).
    private mutating func close(_ payload: [UInt8]) throws(WebSocketError) -> WebSocketEvent {
        guard !payload.isEmpty else {
            end(in: .closed)
            return .close(code: nil, reason: "")
        }
        guard payload.count >= 2 else { throw .breach("a close frame with half a code") }
        let code = UInt16(payload[0]) << 8 | UInt16(payload[1])
        guard Self.mayBeSent(code) else { throw .breach("a close code that may not be sent") }
        guard let reason = String(validating: payload.dropFirst(2), as: UTF8.self) else { throw .notUTF8 }
        end(in: .closed)
        return .close(code: code, reason: reason)
    }

    /// Returns true if a code may occur in a frame. By section 7.4 and IANA's registry, 1004 to 1006 and 1015
    /// may not; others below 3000 have to be registered, and codes up to 4999 are for libraries and
    /// applications.
    private static func mayBeSent(_ code: UInt16) -> Bool {
        switch code {
        case 1000...1003, 1007...1014, 3000...4999: true
        default: false
        }
    }
}
