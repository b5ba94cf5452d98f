import ParlorJSON

/// A connection to a NATS server: the handshake, and the messages after it.
struct NATSSession {
    private let name: String
    private let credentials: NATSCredentials?
    private let subjects: NATSSubjects
    private var info: NATSServerInfo?
    private var isWelcome = false

    init(name: String, _ credentials: NATSCredentials?, _ subjects: NATSSubjects) {
        self.name = name
        self.credentials = credentials
        self.subjects = subjects
    }

    mutating func receive(_ operation: NATSOperation, _ body: (BrokerMessage) -> Void) {
        switch operation {
        case .info(let bytes):
            guard let update = NATSServerInfo(bytes) else { return body(.malformed(nil)) }
            body(.servers(update.servers))
            if info == nil { body(answer(to: update)) }
            info = update
        case .pong where isWelcome: body(.pong)
        case .pong:
            guard let info else { return body(.malformed(nil)) }
            isWelcome = true
            let longest = info.maxPayload.flatMap { $0 < BusLimits.maxLine ? $0 : nil }
            body(.welcome(BusWelcome(maxMessage: longest)))
        case .ping: body(.answer(Array("PONG\r\n".utf8)))
        case .ok: break
        case .error(let text): body(isWelcome ? .complaint(text) : .refusal(text))
        case .message(let head, let headers, let payload): body(message(head, headers, payload))
        }
    }

    /// Answers the server's `INFO`. The server answers in order: its `PONG` confirms that it has accepted
    /// this peer, and that the inbox is subscribed.
    private func answer(to info: NATSServerInfo) -> BrokerMessage {
        if info.wantsTLS { return .refusal("it requires TLS, which Parlor does not support for a bus") }
        guard info.hasHeaders else {
            return .refusal("it is older than NATS 2.2, and does not report missing responders")
        }
        let options = JSONWriter.bytes {
            $0.object {
                $0.member("verbose", false)
                $0.member("pedantic", false)
                $0.member("headers", true)
                $0.member("no_responders", true)
                // 1: requests notices of the cluster's servers as they come and go.
                $0.member("protocol", 1)
                $0.member("name", name)
                $0.member("lang", "swift")
                $0.member("version", "1")
                switch credentials {
                case .user(let user, let password):
                    $0.member("user", user)
                    $0.member("pass", password)
                case .token(let token): $0.member("auth_token", token)
                case nil: break
                }
            }
        }
        let inbox = "SUB \(subjects.inbox)* \(NATSWire.inboxSubscription)\r\nPING\r\n"
        return .answer(Array("CONNECT ".utf8) + options + Array("\r\n\(inbox)".utf8))
    }

    // MARK: Messages

    private func message(
        _ head: NATSMessageHead, _ headers: UnsafeRawBufferPointer, _ payload: UnsafeRawBufferPointer
    ) -> BrokerMessage {
        if head.subscription == NATSWire.inboxSubscription {
            guard let id = subjects.requestID(inbox: head.subject) else { return .malformed(nil) }
            return .reply(id: id, Self.reply(status: Self.status(headers), payload))
        }
        if let subject = NATSSubjects.plain(head.subject, under: subjects.events) {
            guard let data = payload.value(at: payload.indices) else { return .malformed(nil) }
            return .event(subscription: head.subscription, BusMessage(subject: subject, payload: data))
        }
        let address = head.reply.map { ReplyAddress.subject($0) }
        guard let address, let subject = NATSSubjects.plain(head.subject, under: subjects.requests),
            let line = Self.envelope(payload), let data = payload.value(at: line.data)
        else { return .malformed(address) }
        return .request(
            subscription: head.subscription, address, subject: subject, data, BusContext(payload, line))
    }

    private static func reply(
        status: UInt64?, _ payload: UnsafeRawBufferPointer
    ) -> Result<JSONValue, BusError> {
        if let status { return .failure(status == 503 ? .noResponders : .refused("status \(status)")) }
        guard let line = envelope(payload) else { return .failure(.malformedReply) }
        if let code = payload.string(at: line.error) { return .failure(BusError(code: code, message: "")) }
        return payload.value(at: line.data).map { .success($0) } ?? .failure(.malformedReply)
    }

    private static func envelope(_ payload: UnsafeRawBufferPointer) -> BusLine? {
        do throws(BusLineError) { return try BusLine(payload) } catch { return nil }
    }

    /// Returns the status in the headers' first line, `NATS/1.0 503 No Responders`; nil for ordinary headers.
    private static func status(_ headers: UnsafeRawBufferPointer) -> UInt64? {
        let line = headers.prefix { $0 != UInt8(ascii: "\r") && $0 != UInt8(ascii: "\n") }
        let parts = line.split(separator: UInt8(ascii: " "), maxSplits: 2)
        return parts.count > 1 ? NATSParser.number(parts[1]) : nil
    }
}

/// A NATS server's `INFO`.
struct NATSServerInfo {
    /// The longest payload that it accepts, in bytes, including headers.
    let maxPayload: Int?
    let hasHeaders: Bool
    let wantsTLS: Bool
    /// The addresses of this server and the others of its cluster, for clients.
    let servers: [BusAddress]

    /// Parses an `INFO`; nil if it is not a JSON object.
    init?(_ bytes: UnsafeRawBufferPointer) {
        guard let info = bytes.value(at: bytes.indices)?.object else { return nil }
        maxPayload = info["max_payload"]?.int
        hasHeaders = info["headers"]?.bool ?? false
        wantsTLS = info["tls_required"]?.bool ?? false
        servers = (info["connect_urls"]?.array ?? []).compactMap { $0.string.flatMap { BusAddress($0) } }
    }
}

/// Converts a NATS server's bytes to broker messages.
struct NATSReader: BusReader {
    private var parser = NATSParser()
    private var session: NATSSession

    init(_ session: NATSSession) { self.session = session }

    /// Empty: the server begins, with its `INFO`.
    var opening: [UInt8] { [] }

    mutating func read(_ bytes: UnsafeRawBufferPointer, _ body: (BrokerMessage) -> Void) throws(BusReadError) {
        var session = session
        defer { self.session = session }
        try parser.parse(bytes) { session.receive($0, body) }
    }
}
