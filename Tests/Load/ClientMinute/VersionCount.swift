import Observation

/// Counts how often a screen would be drawn again, because what it reads has changed. All changes in one turn of the
/// main actor count as one, as in SwiftUI.
@MainActor
final class VersionCount {
    private(set) var count = 0
    private let read: () -> Void
    private let drawn: () -> Void

    /// - Parameters:
    ///   - read: reads what the screen shows. It is called again after each change.
    ///   - drawn: called after each `read`.
    init(_ read: @escaping () -> Void, drawn: @escaping () -> Void = {}) {
        self.read = read
        self.drawn = drawn
        observe()
    }

    private func observe() {
        withObservationTracking {
            read()
        } onChange: { [weak self] in
            Task { @MainActor in
                guard let self else { return }
                self.count += 1
                self.observe()
            }
        }
        drawn()
    }
}
