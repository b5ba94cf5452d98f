import Glibc

/// How a thread stands to the machine's others when there are not cores for all.
public enum ThreadPriority: Sendable {
    case normal
    /// For work that nobody waits for: it gets what the others leave, and next to nothing where they leave nothing (SCHED_IDLE,
    /// sched(7)). `nice` would not do: it divides up time, and lets a thread that has begun keep its core for milliseconds while one
    /// that has just become ready waits.
    case background

    /// SCHED_IDLE of <sched.h>, which Glibc's module leaves out.
    private static let idlePolicy: Int32 = 5

    func apply() {
        var parameter = sched_param()
        // On Linux a thread's own. One that may not be slowed down is as good.
        if self == .background { sched_setscheduler(0, Self.idlePolicy, &parameter) }
    }

    /// Lets those go first who have something to do. In between parts of long work: a thread's first milliseconds are its own even
    /// in the background, if it had less than its share before.
    public static func giveWay() { sched_yield() }
}
