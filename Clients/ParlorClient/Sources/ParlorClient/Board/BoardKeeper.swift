import Foundation
import Observation

/// Reads a board from the disk, once, and writes its changes there.
@MainActor
@Observable
final class BoardKeeper {
    /// Why changes cannot be read or stored; nil if they can.
    private(set) var failure: String?
    /// A file with earlier changes that this version of the library cannot read; nil if there is none.
    private(set) var setAside: URL?

    /// True once the changes of an earlier process have been read. Until then no change is sent, because the stored
    /// ones come first. None is written, because a write would overwrite the stored ones.
    @ObservationIgnored private(set) var isRestored = false
    /// Called once the stored changes have been read, if there are any.
    @ObservationIgnored var onRestored: @MainActor () -> Void = {}
    @ObservationIgnored private var restoring: Task<Void, Never>?
    @ObservationIgnored private var writing: Task<Void, Never>?
    @ObservationIgnored private var areChangesWritten = true
    @ObservationIgnored private var keeping: Task<Void, Never>?
    private let roomID: String
    private let contents: BoardContents
    private let loading: Loading
    private let files: BoardFiles
    private let clock: any ClientClock

    /// The delay before changed elements are written to the cache: changes within it are written together.
    private static let cachePause: Duration = .milliseconds(500)

    init(roomID: String, contents: BoardContents, loading: Loading, files: BoardFiles, clock: any ClientClock) {
        self.roomID = roomID
        self.contents = contents
        self.loading = loading
        self.files = files
        self.clock = clock
    }

    /// Reads the data of an earlier process. Returns when that has succeeded or failed. After a failure, for example
    /// because the device is locked, the next call tries again.
    func restore() async {
        beginRestoring()
        await restoring?.value
    }

    func beginRestoring() {
        guard !isRestored, restoring == nil, !contents.isEnded else { return }
        restoring = Task {
            await read()
            restoring = nil
        }
    }

    private func read() async {
        do {
            let kept = try await files.read(roomID)
            guard !contents.isEnded else { return }
            // Fetched elements are newer than the cache.
            contents.change { $0.restore(loading.isFetched ? [] : kept.elements, kept.operations, kept.conflicts) }
            isRestored = true
            if let file = kept.setAside { setAside = file }
            note(nil)
            let state = contents.state
            // Some changes were made before the file could be read.
            if state.operations != kept.operations || state.conflicts != kept.conflicts { keepChanges() }
            if !state.operations.isEmpty { onRestored() }
        } catch {
            note(error)
        }
    }

    /// Writes what a change has changed: the person's changes at once, the server's elements soon.
    func note(_ effect: BoardContents.Effect) {
        // A write before the file was read would overwrite it.
        if effect.contains(.changes) { keepChangesIfRestored() }
        if effect.contains(.elements), restoring == nil { keepElementsSoon() }
    }

    /// Writes the changes, once those of an earlier process have been read.
    func keepChangesIfRestored() { if isRestored { keepChanges() } }

    /// Writes the changes. If more are made during a write, another write follows.
    private func keepChanges() {
        areChangesWritten = false
        guard writing == nil else { return }
        writing = Task {
            while !areChangesWritten {
                areChangesWritten = true
                do {
                    try await files.keep(contents.state.operations, contents.state.conflicts, of: roomID)
                    note(nil)
                } catch {
                    note(error)
                }
            }
            writing = nil
        }
    }

    private func keepElementsSoon() {
        guard keeping == nil else { return }
        keeping = Task { [weak self, clock] in
            // A cancelled sleep means that the elements are written now.
            try? await clock.sleep(for: Self.cachePause)
            guard let self else { return }
            keeping = nil
            guard !contents.isEnded else { return }
            await files.keep(Array(contents.state.elements.values), of: roomID)
        }
    }

    /// Writes what waits to be written, and returns when that is done.
    func keepAll() async {
        // The disk may have been full at the last attempt, and have space now.
        if failure != nil, !contents.isEnded { keepChangesIfRestored() }
        await writing?.value
        keeping?.cancel()
        await keeping?.value
    }

    /// Ends: a write in progress ends before this returns, and nothing is written later.
    func end() async {
        keeping?.cancel()
        await writing?.value
        await keeping?.value
    }

    private func note(_ error: (any Error)?) {
        let text = error?.localizedDescription
        if failure != text { failure = text }
    }
}
