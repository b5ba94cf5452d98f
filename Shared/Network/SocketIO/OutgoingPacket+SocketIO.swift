import ParlorJSON

/// Socket.IO's packets, each in an Engine.IO message without attachments.
extension OutgoingPacket {
    public static func event(
        _ name: String, _ arguments: [JSONValue], namespace: String = SocketIOPacket.mainNamespace, id: Int? = nil
    ) -> OutgoingPacket {
        make(.event, namespace, id, .list(JSONValue(name), arguments))
    }

    public static func ack(
        _ id: Int, _ arguments: [JSONValue], namespace: String = SocketIOPacket.mainNamespace
    ) -> OutgoingPacket {
        make(.ack, namespace, id, .list(nil, arguments))
    }

    /// Creates an ack in the main namespace with one object, which is written in place.
    ///
    /// - Parameter capacity: the expected length of the object.
    public static func ack(
        _ id: Int, reservingCapacity capacity: Int, object write: (inout JSONWriter) -> Void
    ) -> OutgoingPacket {
        var packet: [UInt8] = []
        packet.reserveCapacity(capacity + 32)
        for _ in 0..<usualHeader { packet.append(0) }
        packet.append(EnginePacket.Kind.message.rawValue)
        packet.append(SocketIOPacket.Kind.ack.rawValue)
        packet += String(id).utf8
        var json = JSONWriter(after: packet)
        json.array { $0.object(write) }
        return OutgoingPacket(textAfterHeader: json.finish())
    }

    static func connect(_ payload: JSONValue, namespace: String) -> OutgoingPacket {
        make(.connect, namespace, nil, .value(payload))
    }

    static func connectError(_ payload: JSONValue, namespace: String) -> OutgoingPacket {
        make(.connectError, namespace, nil, .value(payload))
    }

    static func disconnect(namespace: String) -> OutgoingPacket { make(.disconnect, namespace, nil, .none) }

    /// The part after a packet's id.
    private enum Payload {
        case none
        case value(JSONValue)
        /// An array: the name, for an event, and the arguments.
        case list(JSONValue?, [JSONValue])

        var length: Int {
            switch self {
            case .none: 0
            case .value(let value): value.bytes.count
            case .list(let name, let arguments):
                // Each element has a bracket or a comma before it, and the list ends with a bracket. An empty list
                // also has both brackets.
                arguments.reduce(1 + (name.map { $0.bytes.count + 1 } ?? 0)) { $0 + $1.bytes.count + 1 }
                    + (name == nil && arguments.isEmpty ? 1 : 0)
            }
        }

        func write(to bytes: inout [UInt8]) {
            switch self {
            case .none: break
            case .value(let value): bytes += value.bytes
            case .list(let name, let arguments):
                bytes.append(UInt8(ascii: "["))
                if let name { bytes += name.bytes }
                for (index, argument) in arguments.enumerated() {
                    if index > 0 || name != nil { bytes.append(UInt8(ascii: ",")) }
                    bytes += argument.bytes
                }
                bytes.append(UInt8(ascii: "]"))
            }
        }
    }

    private static func make(
        _ kind: SocketIOPacket.Kind, _ namespace: String, _ id: Int?, _ payload: Payload
    ) -> OutgoingPacket {
        var head: [UInt8] = []
        head.reserveCapacity(16)
        head.append(EnginePacket.Kind.message.rawValue)
        head.append(kind.rawValue)
        if namespace != SocketIOPacket.mainNamespace { head += "\(namespace),".utf8 }
        if let id { head += String(id).utf8 }
        return OutgoingPacket(of: head.count + payload.length, isBinary: false) { frame in
            frame += head
            payload.write(to: &frame)
        }
    }
}
