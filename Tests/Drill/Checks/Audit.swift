/// Compares the acknowledgements and events that clients received with the databases, and counters
/// with the rows.
struct Audit {
    var report = Report()

    let books: StoredState
    let logs: [String: ClientLog]
    let participants: Participants.Roles
    let shown: [String: [String: ShownRoom]]

    /// - Parameters:
    ///   - logs: the clients' records, by person.
    ///   - shown: the rooms as shown, by person and room.
    init(
        books: StoredState, logs: [String: ClientLog], participants: Participants.Roles,
        shown: [String: [String: ShownRoom]]
    ) {
        self.books = books
        self.logs = logs.mapValues { $0.leavingOut(participants.deletedRooms) }
        self.participants = participants
        self.shown = shown
        checkMessages()
        checkElements()
        checkRooms()
        checkGroups()
        checkDeliveries()
        recountMessages()
        recountElements()
        for log in self.logs.values { add(log) }
    }

    private mutating func add(_ log: ClientLog) {
        report.acknowledged += log.acknowledged
        report.refusals += log.refusals
        report.lostAcks += log.lostAcks
        report.connects += log.connects
        report.reloads += log.reloads
        report.longestWait = max(report.longestWait, log.longestWait)
        for fault in log.faults { report.fault(fault) }
    }

    // MARK: Acknowledgements

    private mutating func checkMessages() {
        let byID = Dictionary(books.messages.map { ($0.id, $0) }, uniquingKeysWith: { first, _ in first })
        var byKey: [[String]: Int] = [:]
        for message in books.messages {
            byKey[[message.roomID, message.senderID, message.tempID ?? ""], default: 0] += 1
        }
        for (person, log) in logs {
            for sent in log.messages {
                guard let stored = byID[sent.id], stored.seq == sent.seq, stored.roomID == sent.roomID,
                    stored.senderID == person, stored.tempID == sent.tempID
                else {
                    report.lostWrite("message \(sent.id), seq \(sent.seq) in room \(sent.roomID)")
                    continue
                }
                report.stored += 1
                if byKey[[sent.roomID, person, sent.tempID]] != 1 { report.doubledWrite("message \(sent.tempID)") }
            }
            for message in log.deletedMessages {
                if byID[message.id]?.isDeleted == true {
                    report.stored += 1
                } else {
                    report.lostWrite("the deletion of message \(message.id)")
                }
            }
            for message in log.reads {
                if byID[message.id]?.isDeleted == true || books.receipts[message.id]?.contains(person) == true {
                    report.stored += 1
                } else {
                    report.lostWrite("the receipt of message \(message.id)")
                }
            }
        }
    }

    private mutating func checkElements() {
        for (person, log) in logs {
            for made in log.elements {
                let id = books.elementKeys[[made.roomID, person, made.tempID]]
                if id != nil, made.id == nil || made.id == id {
                    report.stored += 1
                } else {
                    report.lostWrite("element \(made.id ?? made.tempID) in room \(made.roomID)")
                }
            }
            for update in log.updates {
                // Deleted since, or changed again.
                guard let element = books.elements[update.elementID] else {
                    report.stored += 1
                    continue
                }
                if element.version > update.version
                    || (element.version == update.version && element.content == update.content)
                {
                    report.stored += 1
                } else {
                    report.lostWrite("version \(update.version) of element \(update.elementID)")
                }
            }
            for id in log.deletedElements {
                if books.elements[id] == nil {
                    report.stored += 1
                } else {
                    report.lostWrite("the deletion of element \(id)")
                }
            }
            report.stored += log.clears  // the logs and the counts show whether a clear is lost
        }
    }

    private mutating func checkRooms() {
        for (person, log) in logs {
            for room in log.rooms {
                if books.createdRooms[.init(a: person, b: room.requestID)] == room.roomID {
                    report.stored += 1
                } else {
                    report.lostWrite("room \(room.roomID)")
                }
            }
        }
    }

    // MARK: Received events

    private mutating func checkDeliveries() {
        let deleted = Set(books.messages.lazy.filter(\.isDeleted).map(\.id))
        for (roomID, people) in participants.rooms {
            // Who has left a group has received events of it, too.
            let receivers = participants.groups.contains(roomID) ? Array(logs.keys) : people
            for person in receivers where !participants.absentees.contains(person) {
                let log = logs[person]
                let isIn = people.contains(person)
                for (stream, deliveryLog, reported) in [
                    ("messages", log?.received.chats[roomID]?.leavingOut(deleted), books.chats[roomID]),
                    ("elements", log?.received.boards[roomID], books.boards[roomID]),
                    ("people", log?.received.people[roomID], books.peopleEvents[roomID]),
                ] where isIn || deliveryLog != nil {
                    let reported = reported?.filter { $0.people?.contains(person) != false }.map(\.key)
                    let verdict = DeliveryVerdict(deliveryLog ?? DeliveryLog(), of: reported ?? [])
                    report.deliveryLog += verdict
                    if !verdict.isClean {
                        report.fault("\(person), of \(stream) in room \(roomID): \(verdict) of \(reported?.count ?? 0)")
                    }
                }
            }
        }
        // The first rooms were created before anyone was connected.
        let first = Set(participants.rooms.keys)
        for (person, log) in logs {
            let reported = (books.newRooms[person] ?? []).filter { !first.contains($0) }
            var received = DeliveryLog()
            if log.reloads > 0 { received.noteGap() }
            for id in log.received.newRooms where !first.contains(id) {
                received.receive(EventKey("room".utf8, .init(id)))
                if log.reloads > 0 { received.noteGap() }
            }
            let verdict = DeliveryVerdict(received, of: reported.map { EventKey("room".utf8, .init($0)) })
            report.deliveryLog += verdict
            if !verdict.isClean { report.fault("\(person), of new rooms: \(verdict)") }
        }
    }

    // MARK: Counters

    private mutating func recountMessages() {
        var unread: [StoredState.Pair: Int] = [:]
        for message in books.messages where !message.isDeleted {
            for person in participants.rooms[message.roomID] ?? [] where person != message.senderID {
                let key = StoredState.Pair(a: message.roomID, b: person)
                if message.seq > books.joinedAfter[key] ?? 0, books.receipts[message.id]?.contains(person) != true {
                    unread[key, default: 0] += 1
                }
            }
        }
        for (roomID, people) in participants.rooms {
            for person in people {
                let key = StoredState.Pair(a: roomID, b: person)
                report.compare("unread", of: key, books.unread[key] ?? 0, recount: unread[key] ?? 0)
                report.compare("shown unread", of: key, shown[person]?[roomID]?.unread, recount: unread[key] ?? 0)
            }
        }
    }

    private mutating func recountElements() {
        var counts: [String: Int] = [:]
        for element in books.elements.values { counts[element.roomID, default: 0] += 1 }
        for (roomID, people) in participants.rooms {
            let room = StoredState.Pair(a: roomID, b: "")
            let count = counts[roomID] ?? 0
            report.compare("elements", of: room, books.elementCounts[roomID] ?? 0, recount: count)
            report.compare(
                "revision", of: room, books.revisions[roomID] ?? 0, recount: books.boards[roomID]?.count ?? 0)
            for person in people {
                let key = StoredState.Pair(a: roomID, b: person)
                report.compare("shown elements", of: key, shown[person]?[roomID]?.elementCount, recount: count)
                // A person with the room open has seen all; one who never opened it has seen
                // nothing.
                let unseen =
                    participants.absentees.contains(person)
                    ? (books.creators[roomID] ?? []).count { $0 != person } : 0
                report.compare("unseen", of: key, books.unseen[key] ?? 0, recount: unseen)
                report.compare("shown unseen", of: key, shown[person]?[roomID]?.unseen, recount: unseen)
            }
        }
    }
}
