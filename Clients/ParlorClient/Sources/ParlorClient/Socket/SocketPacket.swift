import Foundation

/// A packet of Socket.IO 5 in the default namespace, without attachments.
enum SocketPacket: Equatable, Sendable {
    /// The server has accepted this client in the namespace.
    case connected
    case refused(message: String, code: String?)
    case disconnect
    /// An event with its argument as JSON; null if there is none. The server sends one at most.
    case event(name: String, data: Data)
    /// An ack with its argument as JSON; empty if there is none. The server sends one at most.
    case ack(id: Int, data: Data)

    /// Parses a packet.
    ///
    /// - Throws: `ClientFailure.unreadable`, also for other namespaces and for attachments, which this client does
    ///   not use.
    init(_ text: Substring) throws(ClientFailure) {
        var rest = text.utf8.dropFirst()
        // A packet may name the default namespace or leave it out.
        if rest.starts(with: "/,".utf8) {
            rest = rest.dropFirst(2)
        } else if rest.elementsEqual("/".utf8) {
            rest = "".utf8[...]
        }
        guard rest.first != UInt8(ascii: "/") else { throw Self.unreadable(text) }
        switch text.utf8.first {
        case UInt8(ascii: "0"): self = .connected
        case UInt8(ascii: "1"): self = .disconnect
        case UInt8(ascii: "2"):
            // An ack id would stand here. It is skipped, because the server requests no acks.
            let arguments = try Self.arguments(rest.drop(while: Self.isDigit), of: text)
            guard let (name, end) = try Self.name(arguments) else { throw Self.unreadable(text) }
            let data = arguments[end...].dropFirst()
            self = .event(name: name, data: data.isEmpty ? Data("null".utf8) : Data(data))
        case UInt8(ascii: "3"):
            let digits = rest.prefix(while: Self.isDigit)
            guard let id = Int(String(decoding: digits, as: UTF8.self)) else { throw Self.unreadable(text) }
            self = .ack(id: id, data: Data(try Self.arguments(rest[digits.endIndex...], of: text)))
        case UInt8(ascii: "4"):
            let words = try ServerDecoder().decode(ConnectError.self, from: Data(rest))
            self = .refused(message: words.message, code: words.data?.code)
        default: throw Self.unreadable(text)
        }
    }

    /// Encodes a CONNECT packet as an Engine.IO message.
    static func connect(_ auth: JSON) throws(ClientFailure) -> String { "40" + (try text(auth)) }

    /// Encodes an event as an Engine.IO message.
    ///
    /// - Parameter ackID: nil to request no ack.
    static func event(_ name: String, _ payload: JSON, ackID: Int?) throws(ClientFailure) -> String {
        "42\(ackID.map { String($0) } ?? "")[\(try text(.string(name))),\(try text(payload))]"
    }

    private static func text(_ value: JSON) throws(ClientFailure) -> String {
        String(decoding: try value.encoded(), as: UTF8.self)
    }

    private struct ConnectError: Decodable {
        let message: String
        let data: Details?

        struct Details: Decodable {
            let code: String?
        }
    }

    private typealias Bytes = Substring.UTF8View

    private static func isDigit(_ byte: UInt8) -> Bool { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) }

    private static func unreadable(_ text: Substring) -> ClientFailure {
        .unreadable("not a Socket.IO packet: \(text.prefix(100))")
    }

    /// Returns the text between the brackets.
    private static func arguments(_ bytes: Bytes, of text: Substring) throws(ClientFailure) -> Bytes {
        guard bytes.first == UInt8(ascii: "["), bytes.last == UInt8(ascii: "]"), bytes.count >= 2 else {
            throw unreadable(text)
        }
        return bytes.dropFirst().dropLast()
    }

    /// Returns the event's name and its end; nil if the first argument is not a string, or if it is followed by
    /// anything but a comma.
    private static func name(_ arguments: Bytes) throws(ClientFailure) -> (String, Bytes.Index)? {
        guard arguments.first == UInt8(ascii: "\"") else { return nil }
        var index = arguments.index(after: arguments.startIndex)
        while index < arguments.endIndex, arguments[index] != UInt8(ascii: "\"") {
            if arguments[index] == UInt8(ascii: "\\") {
                index = arguments.index(after: index)
                guard index < arguments.endIndex else { return nil }
            }
            index = arguments.index(after: index)
        }
        guard index < arguments.endIndex else { return nil }
        let end = arguments.index(after: index)
        guard end == arguments.endIndex || arguments[end] == UInt8(ascii: ",") else { return nil }
        return (try ServerDecoder().decode(String.self, from: Data(arguments[..<end])), end)
    }
}
