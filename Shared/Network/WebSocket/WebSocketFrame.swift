/// Frames to send (RFC 6455, section 5.2).
public enum WebSocketFrame {
    /// Encodes a whole frame.
    ///
    /// - Parameter mask: required from a client, new and unpredictable for each frame; nil from a server.
    public static func encode(
        _ opcode: WebSocketOpcode, _ payload: [UInt8], isFinal: Bool = true, mask: UInt32? = nil
    ) -> [UInt8] {
        var frame: [UInt8] = []
        frame.reserveCapacity(maxHeaderBytes + payload.count)
        appendHeader(opcode, payloadLength: payload.count, isFinal: isFinal, mask: mask, to: &frame)
        let start = frame.count
        frame.append(contentsOf: payload)
        if let mask {
            frame.withUnsafeMutableBytes {
                WebSocketMask.apply(mask, offset: 0, to: UnsafeMutableRawBufferPointer(rebasing: $0[start...]))
            }
        }
        return frame
    }

    /// Appends the header alone, for a payload that is appended next, or is sent from where it is. The caller
    /// has to mask the payload if there is a mask; servers use none.
    ///
    /// The payload of a control frame is limited to 125 bytes.
    public static func appendHeader(
        _ opcode: WebSocketOpcode, payloadLength: Int, isFinal: Bool = true, mask: UInt32? = nil,
        to bytes: inout [UInt8]
    ) {
        precondition(!opcode.isControl || (payloadLength <= 125 && isFinal), "a control frame is short and whole")
        bytes.append((isFinal ? 0x80 : 0) | opcode.rawValue)
        let maskBit: UInt8 = mask == nil ? 0 : 0x80
        switch payloadLength {
        case ...125:
            bytes.append(maskBit | UInt8(payloadLength))
        case ...0xFFFF:
            bytes.append(maskBit | 126)
            appendBigEndian(UInt16(payloadLength), to: &bytes)
        default:
            bytes.append(maskBit | 127)
            appendBigEndian(UInt64(payloadLength), to: &bytes)
        }
        if let mask { appendBigEndian(mask, to: &bytes) }
    }

    /// Encodes a close frame. The reason is shortened, at a character, to the 123 bytes that fit.
    ///
    /// - Parameter code: a code that may be sent (section 7.4); nil for a frame without a reason.
    public static func close(_ code: UInt16?, reason: String = "", mask: UInt32? = nil) -> [UInt8] {
        guard let code else { return encode(.close, [], mask: mask) }
        var payload: [UInt8] = []
        appendBigEndian(code, to: &payload)
        for scalar in reason.unicodeScalars {
            let encoded = UTF8.encode(scalar) ?? UTF8.encodedReplacementCharacter
            guard payload.count + encoded.count <= 125 else { break }
            payload.append(contentsOf: encoded)
        }
        return encode(.close, payload, mask: mask)
    }

    /// The size of the longest header: two bytes, eight for a length, four for a mask.
    static let maxHeaderBytes = 14

    private static func appendBigEndian(_ number: some FixedWidthInteger, to bytes: inout [UInt8]) {
        withUnsafeBytes(of: number.bigEndian) { bytes.append(contentsOf: $0) }
    }
}

/// A frame's kind (RFC 6455, section 5.2).
public enum WebSocketOpcode: UInt8, Sendable {
    case continuation = 0x0
    case text = 0x1
    case binary = 0x2
    case close = 0x8
    case ping = 0x9
    case pong = 0xA

    /// True for control frames, which may come between the fragments of a message, and are short and whole
    /// themselves (section 5.5).
    var isControl: Bool { rawValue & 0x8 != 0 }
}

/// Masking, which is its own inverse (RFC 6455, section 5.3).
enum WebSocketMask {
    /// - Parameters:
    ///   - key: the mask; its first byte on the wire is the highest.
    ///   - offset: the number of payload bytes before these.
    static func apply(_ key: UInt32, offset: Int, to bytes: UnsafeMutableRawBufferPointer) {
        let shift = UInt32(truncatingIfNeeded: offset & 3) * 8
        let turned = shift == 0 ? key : key << shift | key >> (32 - shift)
        let word = (UInt64(turned) << 32 | UInt64(turned)).bigEndian
        let wholeWords = bytes.count & ~7
        var at = 0
        while at < wholeWords {
            let masked = bytes.loadUnaligned(fromByteOffset: at, as: UInt64.self)
            bytes.storeBytes(of: masked ^ word, toByteOffset: at, as: UInt64.self)
            at += 8
        }
        while at < bytes.count {
            bytes[at] ^= UInt8(truncatingIfNeeded: turned >> UInt32(24 - (at & 3) * 8))
            at += 1
        }
    }
}
