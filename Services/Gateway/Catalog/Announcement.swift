import ParlorContracts
import ParlorEventLog
import ParlorJSON
import ParlorMessageBus
import ParlorServiceKit

/// A service's announcement: its manifest, and the head of its event log.
struct Announcement {
    let manifest: Manifest
    /// The manifest as it was sent, with what this version does not know.
    let json: JSONValue
    /// The head of each of its logs; also of one that gateways need not follow.
    let heads: [LogID: LogPosition]

    /// The reason why an announcement has no effect.
    struct Refusal: Error {
        let reason: String
        /// What the reason is about.
        var detail = ""
    }

    init(_ message: BusMessage) throws(Refusal) {
        guard let object = message.data.object, let json = object["manifest"], let manifest = Manifest(json),
            let heads = object["head"]?.object.flatMap(LogPosition.init).map({ [0: $0] }) ?? [Int: LogPosition](object),
            heads.keys.sorted() == manifest.logLayout.numbers
        else { throw Refusal(reason: "it is malformed") }
        // The bus lets a service announce only itself. A manifest must not direct requests to
        // another service's subjects either.
        guard message.subject == Subject.announce(of: manifest.service) else {
            throw Refusal(reason: "it names another service")
        }
        guard !BusPeer.reservedNames.contains(manifest.service) else { throw Refusal(reason: "its name is reserved") }
        if let excess = manifest.excess { throw Refusal(reason: "it is too large", detail: excess) }
        if let repeated = manifest.repeatedClaim {
            throw Refusal(reason: "it declares something twice", detail: repeated)
        }
        if let foreign = manifest.foreignSubject {
            throw Refusal(reason: "it names another service's subject", detail: foreign)
        }
        guard !manifest.logsEndedSessions || manifest.logLayout == .single else {
            throw Refusal(reason: "its ended sessions are in several logs")
        }
        (self.manifest, self.json) = (manifest, json)
        self.heads = Dictionary(uniqueKeysWithValues: heads.map { (LogID(manifest.service, $0.key), $0.value) })
    }

    /// Returns the service that a subject of announcements is for.
    static func service(announcedOn subject: String) -> String {
        String(subject.dropFirst(Subject.announce(of: "").count))
    }
}
