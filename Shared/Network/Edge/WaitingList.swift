/// Who waits for something from its client, the longest first. Joining and leaving take one step.
///
/// Its members are in one such list at most, are kept alive by somebody else, and leave it before they go.
struct WaitingList<Member: Waiting> {
    private(set) unowned var first: Member?
    private unowned var last: Member?
    private(set) var count = 0

    /// Puts a member at the end. Not one that is in it; nothing for one that has retired.
    mutating func append(_ member: Member) {
        if member.place.isRetired { return }
        precondition(!member.place.isTaken, "a member is in one list, once")
        member.place.isTaken = true
        member.place.previous = last
        if let last { last.place.next = member } else { first = member }
        last = member
        count += 1
    }

    /// Nothing for who is not in it.
    mutating func remove(_ member: Member) {
        guard member.place.isTaken else { return }
        let (previous, next) = (member.place.previous, member.place.next)
        member.place = WaitingPlace()
        if let previous { previous.place.next = next } else { first = next }
        if let next { next.place.previous = previous } else { last = previous }
        count -= 1
    }

    /// Removes a member for good, as it is about to go: nothing here keeps it alive.
    mutating func retire(_ member: Member) {
        remove(member)
        member.place.isRetired = true
    }
}

/// What may be in a `WaitingList`.
protocol Waiting: AnyObject {
    var place: WaitingPlace<Self> { get set }
}

/// A member's place in its list; the list's own.
struct WaitingPlace<Member: AnyObject> {
    fileprivate(set) var isTaken = false
    fileprivate var isRetired = false
    fileprivate unowned var previous: Member?
    fileprivate unowned var next: Member?

    init() {}
}
