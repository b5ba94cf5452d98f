import SwiftUI

extension Binding where Value == String? {
    /// Does what may fail, and takes the sentence that an alert shows then. A call that was cancelled has none.
    @MainActor
    func catching(_ body: @MainActor () async throws -> Void) async {
        do {
            try await body()
        } catch is CancellationError {
            // The screen is gone.
        } catch {
            wrappedValue = error.localizedDescription
        }
    }
}

extension Optional {
    /// For an alert, whose end takes the value away.
    fileprivate var isPresent: Bool {
        get { self != nil }
        set { if !newValue { self = nil } }
    }
}

extension View {
    /// Shows a sentence in an alert, until the person has seen it.
    func failureAlert(_ title: LocalizedStringKey, _ failure: Binding<String?>) -> some View {
        alert(title, isPresented: failure.isPresent, presenting: failure.wrappedValue) { _ in
            Button("OK") {}
        } message: { sentence in
            Text(sentence)
        }
    }
}

/// A sentence on what is wrong, beside what it is about.
struct FailureLabel: View {
    private let sentence: String

    init(_ sentence: String) { self.sentence = sentence }

    var body: some View {
        Label(sentence, systemImage: "exclamationmark.triangle")
            .font(.footnote)
            .foregroundStyle(.red)
    }
}
