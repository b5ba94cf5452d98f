import ParlorContracts

/// The last refused announcement of each service, with its reason.
struct RefusedAnnouncements {
    /// The limit of services. On a bus whose peers share a token, a peer can announce any number of names. Beyond the
    /// limit, the oldest refusal is dropped.
    static let maxCount = 256

    struct Refusal: Equatable {
        let reason: String
        let at: Timestamp
    }

    private(set) var all: [String: Refusal] = [:]

    mutating func note(_ service: String, _ reason: String, at now: Timestamp) {
        if all[service] == nil, all.count >= Self.maxCount,
            let oldest = all.min(by: { $0.value.at < $1.value.at })?.key
        {
            all[oldest] = nil
        }
        all[service] = Refusal(reason: reason, at: now)
    }

    /// Removes those that were not repeated since.
    mutating func removeOld(before time: Timestamp) { all = all.filter { $0.value.at >= time } }

    mutating func remove(_ service: String) { all[service] = nil }
}
