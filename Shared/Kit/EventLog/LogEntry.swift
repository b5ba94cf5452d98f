import ParlorContracts
import ParlorJSON
import ParlorMessageBus
import ParlorStorage
import Synchronization

/// A change in a service's event log: the events to send to clients, and the fact for other services.
///
/// An entry that was appended in this process has its emissions and its fact as they were given. An entry from a
/// database or the wire has their JSON, and parses each when it is first used: for the fact, only the first element.
///
/// A class, as the bus, followers and the gateways' buffers share it after the commit.
public final class LogEntry: CommitEvent {
    /// The number of its log (`LogLayout`).
    public let log: Int
    /// The position in the log: the order of commits, from 1, without gaps.
    public let seq: Int
    public let at: Timestamp
    public let roomID: String
    /// The ids of the people in the room at that time.
    public let participants: [String]
    /// The array in the table and on the wire: the fact, if there is one, then the emissions.
    public let emissionsJSON: JSONValue
    /// The id of the request that made the change, for logs; nil if no request did.
    public let requestID: String?
    /// The digest that the entry was written with, if its emissions were removed since; nil for any other entry.
    let writtenDigest: Int?
    private let decoded: Mutex<Decoded>

    private struct Decoded {
        /// Nil until they are parsed.
        var emissions: (emissions: [Emission], mistake: JSONValue?)?
        /// Nil until it is parsed.
        var fact: Fact??
    }

    /// Creates a new entry. Its JSON is written once, now.
    public init(
        log: Int = 0, seq: Int, at: Timestamp, roomID: String, participants: [String],
        emissions: consuming [Emission], fact: Fact? = nil, requestID: String? = nil
    ) {
        self.log = log
        self.seq = seq
        self.at = at
        self.roomID = roomID
        self.participants = participants
        self.requestID = requestID
        writtenDigest = nil
        var fact = fact
        emissionsJSON = emissions.write(after: &fact)
        decoded = Mutex(Decoded(emissions: (emissions, nil), fact: .some(fact)))
    }

    /// Creates an entry from its stored or transmitted form.
    public init(
        log: Int = 0, seq: Int, at: Timestamp, roomID: String, participants: [String], emissionsJSON: JSONValue,
        requestID: String? = nil, writtenDigest: Int? = nil
    ) {
        self.log = log
        self.seq = seq
        self.at = at
        self.roomID = roomID
        self.participants = participants
        self.emissionsJSON = emissionsJSON
        self.requestID = requestID
        self.writtenDigest = writtenDigest
        decoded = Mutex(Decoded())
    }

    /// Its number among the entries of all logs.
    package var key: Int { LogKeys(log).key(seq) }

    /// The events for clients. Those that a newer service wrote in an unknown form are left out.
    public var emissions: [Emission] { emissionsAndMistake.emissions }

    /// The events for clients, and the first element that is neither one nor a fact, if there is one.
    public var emissionsAndMistake: (emissions: [Emission], mistake: JSONValue?) {
        decoded.withLock { decoded in
            if let emissions = decoded.emissions { return emissions }
            var emissions: [Emission] = []
            var mistake: JSONValue?
            for element in emissionsJSON.array ?? [] {
                if let emission = Emission(element) {
                    emissions.append(emission)
                } else if mistake == nil, Fact(element) == nil {
                    mistake = element
                }
            }
            decoded.emissions = (emissions, mistake)
            return (emissions, mistake)
        }
    }

    /// The fact for other services; nil if none of them needs one.
    public var fact: Fact? {
        decoded.withLock { decoded in
            if let fact = decoded.fact { return fact }
            let first = emissionsJSON.firstElement
            let fact = first.flatMap { Fact($0) ?? Emission($0).flatMap(Fact.init(older:)) }
            decoded.fact = .some(fact)
            return fact
        }
    }
}

extension EntryPosition {
    /// Its number among the entries of all logs of the service.
    package var key: Int { LogKeys(log.number).key(seq) }
}

extension LogEntry {
    /// This entry without its emissions, because what they quote was deleted. Its fact stays, and so does its digest:
    /// positions after it are valid.
    public var withoutEmissions: LogEntry {
        var none: [Emission] = []
        var fact = self.fact
        return LogEntry(
            log: log, seq: seq, at: at, roomID: roomID, participants: participants,
            emissionsJSON: none.write(after: &fact),
            requestID: requestID, writtenDigest: digest)
    }
}

// MARK: On the wire

extension LogEntry {
    func write(to json: inout JSONWriter) {
        json.object {
            if log != 0 { $0.member("log", log) }
            $0.member("seq", seq)
            $0.member("at", at.milliseconds)
            $0.member("roomId", roomID)
            if let requestID { $0.member("request", requestID) }
            if let writtenDigest { $0.member("digest", writtenDigest) }
            $0.member("participants", participants)
            $0.member("emissions", emissionsJSON)
        }
    }

    /// Parses the result of `json`; nil for anything else.
    public convenience init?(_ json: JSONValue) { self.init(json, sharing: ParticipantLists()) }

    convenience init?(_ json: JSONValue, sharing lists: ParticipantLists) {
        guard let object = json.object, let log = object["log"].map(\.log) ?? 0,
            let seq = object["seq"]?.logNumber, let at = object["at"]?.logNumber,
            let roomID = object["roomId"]?.string, let list = object["participants"],
            let participants = lists.ids(in: list, ofRoom: roomID),
            let emissions = object["emissions"], emissions.kind == .array
        else { return nil }
        // The bytes of a long list are not kept with the emissions.
        let isLong = list.bytes.count > ParticipantLists.shortBytes
        self.init(
            log: log, seq: seq, at: Timestamp(milliseconds: at), roomID: roomID, participants: participants,
            emissionsJSON: isLong ? emissions.detached : emissions, requestID: object["request"]?.string,
            writtenDigest: object["digest"]?.int)
    }

    /// Returns a message's entry, which is the published object on a bus within the process; nil if the
    /// message has none.
    static func read(_ message: BusMessage, sharing lists: ParticipantLists) -> LogEntry? {
        message.payload as? LogEntry ?? LogEntry(message.data, sharing: lists)
    }
}

extension LogEntry: BusPayload {
    public var json: JSONValue {
        JSONWriter.value(reservingCapacity: emissionsJSON.bytes.count + 256) { write(to: &$0) }
    }

    public var maxBytes: Int {
        // An escaped byte takes six.
        let texts = participants.reduce(roomID.utf8.count + (requestID?.utf8.count ?? 0)) { $0 + $1.utf8.count }
        return emissionsJSON.bytes.count + 6 * texts + 4 * participants.count + 192
    }
}

extension LogEntry: Equatable {
    public static func == (a: LogEntry, b: LogEntry) -> Bool {
        a.log == b.log && a.seq == b.seq && a.at == b.at && a.roomID == b.roomID && a.participants == b.participants
            && a.emissionsJSON == b.emissionsJSON && a.requestID == b.requestID
            && a.writtenDigest == b.writtenDigest
    }
}
