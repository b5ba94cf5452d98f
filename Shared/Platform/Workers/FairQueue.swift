/// The owner of a job. Addresses of one network also count together, as an owner of one address in a network
/// often has many.
public struct Party: Hashable, Sendable {
    public let network: String
    public let address: String

    public init(network: String, address: String) {
        self.network = network
        self.address = address
    }
}

/// Jobs that wait for one of a few slots. Each network and each address gets its turn, however many jobs it
/// has.
///
/// It only decides, and `FairPool` acts. The network whose last turn is longest ago goes first, so a new one waits only
/// for the running job. Within the network the same rule selects the address, and then the earliest job.
///
/// The queue is bounded in three ways:
/// - An address at its limit: the new job is refused.
/// - A network at its limit: the new job replaces the latest job of the address that has the most jobs there.
/// - A full queue: the new job replaces the latest job of the network that has the most jobs.
///
/// In the last two cases the new job is refused instead if its own address or network would have at least as many jobs
/// as that one. The queue is short enough to look at each job.
struct FairQueue<Job> {
    struct Waiting {
        let job: Job
        /// The owner, or nil if the job is not counted.
        let party: Party?
        let deadline: ContinuousClock.Instant
    }

    private enum Admission {
        case free
        case of(index: Int)
        case none(FairPoolRefusal)
    }

    private let limits: FairPool.Limits
    /// The waiting jobs, in order of arrival.
    private(set) var waiting: [Waiting] = []
    private var inFlight: [String: Int] = [:]
    /// The number of the last turn of each network and address.
    private var turns: [String: Int] = [:]
    private var turn = 0

    /// The limit of networks and addresses whose last turn is remembered. Beyond it, the earlier half is
    /// forgotten, and counts as not having had a turn.
    private static var maxTurns: Int { 4096 }

    init(_ limits: FairPool.Limits) { self.limits = limits }

    /// The number of networks and addresses whose last turn is remembered.
    var rememberedTurns: Int { turns.count }

    // MARK: Adding

    /// Returns the reason why this party could not wait now, or nil if it could.
    func refusal(of party: Party?) -> FairPoolRefusal? {
        if case .none(let refusal) = admission(for: party) { refusal } else { nil }
    }

    /// Adds a job, or refuses it.
    ///
    /// - Returns: the job that is refused: this one, or the one that it replaced.
    mutating func add(_ new: Waiting) -> (job: Job, refusal: FairPoolRefusal)? {
        switch admission(for: new.party) {
        case .none(let refusal): return (new.job, refusal)
        case .free:
            waiting.append(new)
            return nil
        case .of(let index):
            let displaced = waiting.remove(at: index)
            waiting.append(new)
            return (displaced.job, .busy)
        }
    }

    private func admission(for party: Party?) -> Admission {
        if let party {
            let ofNetwork = waiting.indices.filter { waiting[$0].party?.network == party.network }
            let ofAddress = ofNetwork.count { waiting[$0].party == party }
            if ofAddress >= limits.waitingOfAddress { return .none(.share) }
            if ofNetwork.count >= limits.waitingOfNetwork {
                return heaviest(of: ofNetwork, by: \.address, than: ofAddress).map(Admission.of) ?? .none(.share)
            }
        }
        guard waiting.count >= limits.waiting else { return .free }
        let own = waiting.count { $0.party?.network == party?.network }
        return heaviest(of: Array(waiting.indices), by: \.network, than: own).map(Admission.of) ?? .none(.busy)
    }

    /// Returns the index of the latest job of the address or network with the most, if that is more than the newcomer's
    /// would have.
    private func heaviest(of indices: [Int], by key: KeyPath<Party, String>, than own: Int) -> Int? {
        var counts: [String: Int] = [:]
        for index in indices { counts[waiting[index].party?[keyPath: key] ?? "", default: 0] += 1 }
        guard let most = counts.values.max(), most > own + 1 else { return nil }
        return indices.last { counts[waiting[$0].party?[keyPath: key] ?? ""] == most }
    }

    // MARK: Taking

    /// Takes the job whose turn it is; `finished` must follow. Jobs that cannot be done in time any more are
    /// removed.
    ///
    /// - Parameter needed: the time that a job takes.
    mutating func next(at now: ContinuousClock.Instant, needing needed: Duration) -> (job: Waiting?, late: [Job]) {
        let late = waiting.filter { $0.deadline < now + needed }.map(\.job)
        if !late.isEmpty { waiting.removeAll { $0.deadline < now + needed } }
        let mayGo = waiting.indices.filter { index in
            waiting[index].party.map { inFlight[$0.network] ?? 0 < limits.inFlightOfNetwork } ?? true
        }
        guard let index = mayGo.min(by: { rank($0) < rank($1) }) else { return (nil, late) }
        let next = waiting.remove(at: index)
        if let party = next.party {
            inFlight[party.network, default: 0] += 1
            note(party)
        }
        return (next, late)
    }

    /// Returns the last turns of a job's network and address. Of two jobs with equal ranks the earlier goes
    /// first, as `min` returns the first of them.
    private func rank(_ index: Int) -> (Int, Int) {
        guard let party = waiting[index].party else { return (0, 0) }
        return (turns[party.network] ?? 0, turns[party.address] ?? 0)
    }

    mutating func finished(_ party: Party?) {
        guard let party, let count = inFlight[party.network] else { return }
        inFlight[party.network] = count > 1 ? count - 1 : nil
    }

    private mutating func note(_ party: Party) {
        turn += 1
        turns[party.network] = turn
        turns[party.address] = turn
        // Each turn adds at most two entries: about half of them stay, and the next cleanup is a thousand
        // turns away.
        if turns.count > Self.maxTurns { turns = turns.filter { $0.value > turn - Self.maxTurns / 4 } }
    }
}

extension FairQueue.Waiting: Sendable where Job: Sendable {}
