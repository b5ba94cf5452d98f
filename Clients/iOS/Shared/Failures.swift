import ParlorClient
import SwiftUI

extension Binding where Value == String? {
    /// Runs a call, and keeps the message of its error for an alert. A cancellation is not an error.
    @MainActor
    func catching(_ body: @MainActor () async throws -> Void) async {
        do {
            try await body()
        } catch is CancellationError {
            // The screen was closed.
        } catch {
            wrappedValue = error.sentence
        }
    }
}

extension Optional {
    /// True if there is a value. An alert sets this to false when it closes, which removes the value.
    fileprivate var isPresent: Bool {
        get { self != nil }
        set { if !newValue { self = nil } }
    }
}

extension View {
    /// Shows an error message in an alert. When the alert closes, it removes the message.
    func failureAlert(_ title: LocalizedStringKey, _ failure: Binding<String?>) -> some View {
        alert(title, isPresented: failure.isPresent, presenting: failure.wrappedValue) { _ in
            Button("OK") {}
        } message: { sentence in
            Text(sentence)
        }
    }
}

/// An error message as a small red label.
struct FailureLabel: View {
    private let sentence: Text

    /// Shows the server's or the library's own sentence.
    init(verbatim sentence: String) { self.sentence = Text(verbatim: sentence) }

    /// Shows a sentence of the app.
    init(_ sentence: LocalizedStringKey) { self.sentence = Text(sentence) }

    var body: some View {
        Label {
            sentence
        } icon: {
            Image(systemName: "exclamationmark.triangle")
        }
        .font(.footnote)
        .foregroundStyle(.red)
    }
}

/// Says above what is shown why it may be out of date. `ConnectionLine` shows a lost connection.
struct OutdatedReason: View {
    private let failure: ClientFailure?

    init(_ failure: ClientFailure?) { self.failure = failure }

    var body: some View {
        if let failure, !failure.isOffline {
            FailureLabel(verbatim: failure.sentence)
                .padding(8)
                .frame(maxWidth: .infinity)
                .background(.bar)
        }
    }
}

/// Says why nothing could be loaded. It takes the place of the content.
struct LoadFailure: View {
    private let title: LocalizedStringKey
    private let failure: ClientFailure
    private let retry: @MainActor () async -> Void

    init(_ title: LocalizedStringKey, _ failure: ClientFailure, retry: @escaping @MainActor () async -> Void) {
        self.title = title
        self.failure = failure
        self.retry = retry
    }

    var body: some View {
        ContentUnavailableView {
            Label(title, systemImage: "exclamationmark.triangle")
        } description: {
            Text(failure.sentence)
        } actions: {
            if failure.isRetryable { Button("Try again") { Task { await retry() } } }
        }
    }
}
