/// What a write waits for before it returns.
public enum Durability: Sendable {
    /// It is on disk: a power cut takes nothing away.
    case synced
    /// It is committed, and no disk is waited for. A crash of the program takes nothing away; a power cut may take the last writes
    /// back, whole and the newest first, up to the last one that was synced. For what would simply be done again, as a sync is waited
    /// for by everybody who shares the disk.
    ///
    /// A write that shares its transaction with a synced one is synced with it.
    case relaxed
}
