import ParlorContracts
import ParlorJSON
import ParlorLogging
import ParlorServiceKit
import Synchronization

/// Logs what is wrong with services' announcements, where their authors look. Services repeat announcements, so a reason
/// is logged once in a while only.
final class AnnouncementLog: Sendable {
    private let log: Logger
    private let throttle = Mutex(LogThrottle())

    init(_ log: Logger) { self.log = log }

    private func isToBeLogged(_ reason: String, of service: String) -> Bool {
        throttle.withLock { $0.note(reason, of: service) }
    }

    /// - Returns: false if the same refusal was logged not long ago.
    func noteRefusal(of subject: String, _ refusal: Announcement.Refusal) -> Bool {
        let (reason, detail) = (refusal.reason, refusal.detail)
        guard isToBeLogged("\(reason) \(detail)", of: subject) else { return false }
        log.warning("an announcement is refused", ["subject": subject, "reason": reason, "detail": detail])
        return true
    }

    /// Notes that a service claims what another one has.
    func noteRejection(of service: String, _ claim: String, of holder: String) {
        guard isToBeLogged("\(claim) of \(holder)", of: service) else { return }
        log.error(
            "service rejected: another service already has what it claims",
            ["name": service, "what": claim, "of": holder])
    }

    func noteTooMany(_ count: Int, _ service: String) {
        // Throttle this line for all names together. On a bus whose peers share a token, a peer can announce any
        // number of names.
        guard isToBeLogged("there are too many services", of: "") else { return }
        log.warning("there are too many services", ["name": service, "count": count])
    }

    /// Logs what the author of a service may not have meant. The announcement holds all the same.
    func noteMistakes(in announcement: Announcement, _ catalog: Catalog) {
        let manifest = announcement.manifest
        var mistakes: [String] = []
        if let part = Manifest.skippedPart(of: announcement.json) {
            mistakes.append("\(part) lacks a member, or has a wrong one")
        }
        // Until all are known, another service may still declare the limit.
        if catalog.isWhole {
            for limit in manifest.namedLimits
            where !RateLimit.namesOfGateways.contains(limit) && catalog.limits[limit] == nil {
                mistakes.append("nobody declares the rate limit \(limit), so the default one holds")
            }
        }
        for mistake in mistakes where isToBeLogged(mistake, of: manifest.service) {
            log.warning("an announcement has a mistake", ["name": manifest.service, "reason": mistake])
        }
    }

    private static let unloggedFields =
        "a service's fields of rooms are in no log, so it is asked for them with each list"

    /// Logs what has an effect that is easy to miss. The reason may be in another service's manifest, so all checks are
    /// looked at after each announcement.
    ///
    /// - Parameter isDiscovered: true for a service that was unknown. Its checks that `CHECKS` leaves out are logged only
    ///   then.
    func noteEffects(of manifest: Manifest, isDiscovered: Bool, _ catalog: Catalog) {
        let name = manifest.service
        if isDiscovered { log.info("service discovered", ["name": name]) }
        if manifest.contribution != nil, !manifest.logsItsFields, isToBeLogged(Self.unloggedFields, of: name) {
            log.warning(Self.unloggedFields, ["name": name])
        }
        struct Group: Hashable { let service: String, reason: RefusedCheck.Reason }
        let refused = Dictionary(grouping: catalog.refusedChecks) {
            Group(service: $0.check.service, reason: $0.reason)
        }
        for (group, refused) in refused {
            if group.reason == .unlisted, group.service != name || !isDiscovered { continue }
            let requests = refused.map(\.check.before).joined(separator: ", ")
            guard isToBeLogged("check before \(requests): \(group.reason)", of: group.service) else { continue }
            log.warning(
                "a check has no effect: \(group.reason.rawValue)", ["name": group.service, "before": requests])
        }
    }
}
