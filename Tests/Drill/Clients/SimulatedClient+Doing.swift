import ParlorJSON
import ParlorReactor
import ParlorTestSupport
import TestClients

extension SimulatedClient {
    private enum Doing: CaseIterable {
        case send, read, deleteMessage, create, update, deleteElement, clear, makeRoom

        /// The frequency of each action, in a thousand.
        var weight: Int {
            switch self {
            case .send: 450
            case .read: 120
            case .deleteMessage: 60
            case .create: 170
            case .update: 130
            case .deleteElement: 55
            case .clear: 5
            case .makeRoom: 10
            }
        }
    }

    func doSomething(_ name: String, using random: inout SeededGenerator) async {
        guard let roomID = (rooms + log.groups.sorted()).randomElement(using: &random) else { return }
        var number = Int.random(in: 0..<1000, using: &random)
        let choice = Doing.allCases.first { doing in
            number -= doing.weight
            return number < 0
        }
        let pick = Int.random(in: 0..<1_000_000, using: &random)
        switch choice ?? .send {
        case .send: await send(name, to: roomID)
        case .read: await read(in: roomID)
        case .deleteMessage: await deleteMessage(in: roomID)
        case .create: await create(name, in: roomID)
        case .update: await update(name, in: roomID, pick)
        case .deleteElement: await deleteElement(in: roomID, pick)
        case .clear: await clear(roomID)
        case .makeRoom: await makeRoom(name)
        }
    }

    // MARK: Messages

    func send(_ name: String, to roomID: String) async {
        let ack = await insist("message:send", in: roomID) {
            $0.member("text", "message \(name) of \(self.person.id)")
            $0.member("tempId", name)
        }
        if isGone(roomID, ack) { return }
        guard ack["success"]?.bool == true, let id = ack["messageId"]?.string, let seq = ack["seq"]?.int else {
            return log.fault("message:send was answered with \(ack)")
        }
        log.messages.append(.init(roomID: roomID, tempID: name, id: id, seq: seq))
        ownMessages[roomID, default: []].append(id)
    }

    private func read(in roomID: String) async {
        let ids = Array((unread[roomID] ?? []).prefix(50))
        guard !ids.isEmpty else { return }
        unread[roomID]?.removeFirst(ids.count)
        let ack = await insist("messages:mark-read", in: roomID) {
            $0.member("messageIds", array: { for id in ids { $0.string(id) } })
        }
        if isGone(roomID, ack) { return }
        guard ack["success"]?.bool == true else { return log.fault("messages:mark-read was answered with \(ack)") }
        // In a group, what was sent before the person came is ignored.
        if rooms.contains(roomID) || ack["readCount"]?.int == ids.count {
            log.reads += ids.map { .init(roomID: roomID, id: $0) }
        }
    }

    private func deleteMessage(in roomID: String) async {
        guard let id = ownMessages[roomID]?.popLast() else { return }
        let ack = await insist("message:delete", in: roomID) { $0.member("messageId", id) }
        if isGone(roomID, ack) { return }
        // A retry of a completed deletion finds nothing.
        guard ack["success"]?.bool == true || ack["error"]?["code"]?.string == "message_not_found" else {
            return log.fault("message:delete was answered with \(ack)")
        }
        log.deletedMessages.append(.init(roomID: roomID, id: id))
    }

    // MARK: Elements

    private func create(_ name: String, in roomID: String) async {
        let ack = await insist("element:create", in: roomID) {
            $0.member("type", "note")
            $0.member("content", object: { $0.member("text", name) })
            $0.member("tempId", name)
        }
        if isGone(roomID, ack) { return }
        let isDeleted = ack["error"]?["code"]?.string == "element_not_found"
        guard isDeleted || ack["element"]?["id"]?.string != nil else {
            return log.fault("element:create was answered with \(ack)")
        }
        log.elements.append(.init(roomID: roomID, tempID: name, id: ack["element"]?["id"]?.string))
    }

    private func update(_ name: String, in roomID: String, _ pick: Int) async {
        guard let known = board[roomID], !known.isEmpty else { return }
        let id = known[pick % known.count]
        let ack = await insist("element:update", in: roomID) {
            $0.member("elementId", id)
            $0.member("content", object: { $0.member("text", "\(name) of \(self.person.id)") })
        }
        // Someone else was first.
        if isGone(roomID, ack) || ack["error"]?["code"]?.string == "element_not_found" { return }
        guard let version = ack["element"]?["version"]?.int, let content = ack["element"]?["content"]?.text else {
            return log.fault("element:update was answered with \(ack)")
        }
        log.updates.append(.init(elementID: id, version: version, content: content))
    }

    private func deleteElement(in roomID: String, _ pick: Int) async {
        guard let known = board[roomID], !known.isEmpty else { return }
        let id = known[pick % known.count]
        let ack = await insist("element:delete", in: roomID) { $0.member("elementId", id) }
        if isGone(roomID, ack) { return }
        guard ack["success"]?.bool == true || ack["error"]?["code"]?.string == "element_not_found" else {
            return log.fault("element:delete was answered with \(ack)")
        }
        log.deletedElements.append(id)
    }

    private func clear(_ roomID: String) async {
        let ack = await insist("room:clear", in: roomID) { _ in }
        if isGone(roomID, ack) { return }
        guard ack["success"]?.bool == true else { return log.fault("room:clear was answered with \(ack)") }
        log.clears += 1
    }

    // MARK: Rooms

    private func makeRoom(_ name: String) async {
        let body = JSONWriter.object {
            $0.member("otherUserId", friend.id)
            $0.member("clientRequestId", name)
        }
        while true {
            if let address = await cluster.gatewayAddress {
                do throws(ClientError) {
                    let answer = try await ask(
                        HTTPCall("POST", "/api/rooms", token: person.token, body: body), of: address)
                    if answer.status != 503 {
                        guard let id = try answer.data()["id"]?.string else { throw ClientError("no room in it") }
                        return log.rooms.append(.init(requestID: name, roomID: id))
                    }
                    log.refusals += 1
                } catch {
                    // There was no answer, or a wrong one. The client asks again. If each answer is
                    // wrong, the room is missing at the end.
                    log.lostAcks += 1
                }
            }
            await loop.pause(.milliseconds(.random(in: 100...400)))
        }
    }

    // MARK: Retrying

    /// Sends an event until its answer needs no retry: with the same data, as clients do.
    private func insist(
        _ event: String, in roomID: String, _ write: (inout JSONWriter) -> Void
    ) async -> JSONValue {
        let payload = JSONWriter.object {
            $0.member("roomId", roomID)
            write(&$0)
        }
        var since: LoopInstant?
        while true {
            guard let client else {
                await loop.pause(.milliseconds(20))
                continue
            }
            let asked = since ?? .now()
            switch await answer(to: event, payload, on: client) {
            case .success(let ack):
                since = nil
                await noteWait(since: asked, event)
                guard ack["error"]?["retryable"]?.bool == true else { return ack }
                log.refusals += 1
                await loop.pause(.milliseconds(.random(in: 100...400)))
            case .failure:
                log.lostAcks += 1
                // The socket counts as dead, even if it is not.
                client.drop()
                // Nobody can answer while the gateway is down, and no answer arrives on a socket
                // that was closed. In these cases the wait counts from the reconnect.
                let hasHungUp = hungUpAt >= asked
                let hasLiveGateway = await cluster.hasLived(since: asked)
                since = hasLiveGateway && !hasHungUp ? asked : nil
                if hasLiveGateway { await noteWait(since: asked, event) }
            }
        }
    }

    /// Records a wait. It counts from the time the gateway was up again, if it was down.
    private func noteWait(since asked: LoopInstant, _ event: String) async {
        let wait = LoopInstant.now() - max(asked, await cluster.gatewayUpSince)
        log.longestWait = max(log.longestWait, wait)
        guard wait > Self.answerLimit else { return }
        let time = LoopInstant.now() - (await cluster.faultsBeganAt)
        log.fault("\(event) waited for \(wait), until \(time.minutesText)")
    }
}
