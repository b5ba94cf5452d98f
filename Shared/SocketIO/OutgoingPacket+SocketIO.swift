import JSON

/// Socket.IO's packets, each inside an Engine.IO message.
extension OutgoingPacket {
    /// An event without attachments.
    public static func event(
        _ name: String, _ arguments: [JSONValue], namespace: String = SocketIOPacket.mainNamespace, id: Int? = nil
    ) -> OutgoingPacket {
        make(.event, namespace, id, .array([JSONValue(name)] + arguments))
    }

    /// An event with its attachments; their placeholders are in the arguments.
    public static func event(
        _ name: String, _ arguments: [JSONValue], attachments: [[UInt8]],
        namespace: String = SocketIOPacket.mainNamespace, id: Int? = nil
    ) -> [OutgoingPacket] {
        if attachments.isEmpty { return [event(name, arguments, namespace: namespace, id: id)] }
        let values = JSONValue.array([JSONValue(name)] + arguments)
        return [make(.binaryEvent, namespace, id, values, attachments: attachments.count)]
            + attachments.map(OutgoingPacket.init(binary:))
    }

    public static func ack(
        _ id: Int, _ arguments: [JSONValue], namespace: String = SocketIOPacket.mainNamespace
    ) -> OutgoingPacket {
        make(.ack, namespace, id, .array(arguments))
    }

    /// An ack with its attachments; their placeholders are in the arguments.
    public static func ack(
        _ id: Int, _ arguments: [JSONValue], attachments: [[UInt8]], namespace: String = SocketIOPacket.mainNamespace
    ) -> [OutgoingPacket] {
        if attachments.isEmpty { return [ack(id, arguments, namespace: namespace)] }
        return [make(.binaryAck, namespace, id, .array(arguments), attachments: attachments.count)]
            + attachments.map(OutgoingPacket.init(binary:))
    }

    static func connect(_ payload: JSONValue, namespace: String) -> OutgoingPacket {
        make(.connect, namespace, nil, payload)
    }

    static func connectError(_ payload: JSONValue, namespace: String) -> OutgoingPacket {
        make(.connectError, namespace, nil, payload)
    }

    static func disconnect(namespace: String) -> OutgoingPacket { make(.disconnect, namespace, nil, nil) }

    private static func make(
        _ kind: SocketIOPacket.Kind, _ namespace: String, _ id: Int?, _ payload: JSONValue?, attachments: Int? = nil
    ) -> OutgoingPacket {
        var text: [UInt8] = []
        text.reserveCapacity(48 + (payload?.bytes.count ?? 0))
        text += [EnginePacket.Kind.message.rawValue, kind.rawValue]
        if let attachments { text += "\(attachments)-".utf8 }
        if namespace != SocketIOPacket.mainNamespace { text += "\(namespace),".utf8 }
        if let id { text += String(id).utf8 }
        if let payload { text += payload.bytes }
        return OutgoingPacket(text: text)
    }
}

extension JSONValue {
    fileprivate static func array(_ values: [JSONValue]) -> JSONValue {
        JSONWriter.value(reservingCapacity: values.reduce(2) { $0 + $1.bytes.count + 1 }) {
            $0.array(of: values) { $0.value($1) }
        }
    }
}
