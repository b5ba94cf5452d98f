import Foundation
import Observation

/// The texts that the person is still writing: a room's message, and the notes of its board. They stay on this device
/// until they are emptied, the room is gone, or the person signs out.
///
/// A field can be bound to its draft. The drafts of an earlier run are there after ``RoomsClient/start()``. A change is
/// stored after half a second, or before by ``RoomsClient/stop()`` and ``RoomsClient/enterBackground(within:)``. If
/// the disk fails, the drafts stay in memory, and the next change stores them.
@MainActor @Observable
public final class Drafts {
    /// The time before a write. What is typed in this time is part of the same write.
    nonisolated static let pause: Duration = .milliseconds(500)

    /// By room, and then by what is written. A removed draft is empty until the next run, so that a late read does not
    /// bring it back.
    private var texts: [String: [String: String]] = [:]
    /// The rooms whose drafts are not stored yet.
    @ObservationIgnored private var changed: Set<String> = []
    /// The file of each room with drafts.
    @ObservationIgnored private let files: RoomFiles
    @ObservationIgnored private let keeping: DelayedWork
    /// The rooms whose drafts of an earlier run are still to be read; nil if they are unknown.
    @ObservationIgnored private var toRead: Set<String>?
    @ObservationIgnored private var isEnded = false

    nonisolated init(files: RoomFiles, clock: any ClientClock) {
        self.files = files
        keeping = DelayedWork(clock)
    }

    /// The text for a room's next message; empty for none. Empty it when ``Conversation/send(_:)`` has taken the text.
    public subscript(roomID: Room.ID) -> String {
        get { texts[roomID]?["message"] ?? "" }
        set { set(newValue, of: "message", in: roomID) }
    }

    /// The text for a note of a room's board; empty for none.
    ///
    /// - Parameter noteID: the element's id, or a name of the app's own for a note that is not on the board yet.
    public subscript(roomID: Room.ID, note noteID: String) -> String {
        get { texts[roomID]?["note/\(noteID)"] ?? "" }
        set { set(newValue, of: "note/\(noteID)", in: roomID) }
    }

    private func set(_ text: String, of key: String, in roomID: String) {
        guard !isEnded, texts[roomID]?[key] ?? "" != text else { return }
        texts[roomID, default: [:]][key] = text
        changed.insert(roomID)
        keeping.start(after: Self.pause) { [weak self] in self?.keepAll() }
    }

    /// Reads the drafts of an earlier run. Those that were changed meanwhile stay as they are. If the disk cannot be
    /// read now, a later call tries again.
    func restore() {
        guard !isEnded, let roomIDs = toRead ?? (try? files.keys()).map(Set.init) else { return }
        toRead = []
        for roomID in roomIDs {
            do {
                guard let data = try files.read(roomID) else { continue }
                if let stored = try? JSONDecoder().decode([String: String].self, from: data) {
                    texts[roomID] = stored.merging(texts[roomID] ?? [:]) { $1 }
                } else {
                    _ = try files.setAside(roomID)
                }
            } catch {
                toRead?.insert(roomID)
            }
        }
    }

    /// Stores all changes now, for example before what they replace is discarded.
    public func keepAll() {
        keeping.cancel()
        restore()
        guard let toRead, !isEnded else { return }
        // A write before a file was read would replace it.
        for roomID in changed.subtracting(toRead) {
            let drafts = texts[roomID, default: [:]].filter { !$0.value.isEmpty }
            // `try?`: it stays changed, so that the next call tries again.
            let isKept: Void? =
                drafts.isEmpty
                ? try? files.remove(roomID)
                : try? files.write(JSONEncoder().encode(drafts), of: roomID, isForced: false)
            if isKept != nil { changed.remove(roomID) }
        }
    }

    /// Removes the drafts of a room that the person is no longer in.
    func removeAll(in roomID: String) {
        texts[roomID] = nil
        changed.remove(roomID)
        // An error is ignored: the draft of a room that is gone is not shown.
        try? files.remove(roomID)
    }

    /// Stores all changes. From then on nothing is stored.
    func end() {
        keepAll()
        isEnded = true
    }

    /// Removes all drafts from this device, after signing out.
    func removeAll() throws {
        isEnded = true
        keeping.cancel()
        texts = [:]
        try files.removeAll()
    }
}
