import ParlorClient
import SwiftUI

/// Names or renames a room. An empty name removes the name.
struct RoomNameScreen: View {
    let rooms: RoomList
    let room: Room

    var body: some View {
        RoomNameForm(
            title: room.visibleName == nil ? "Name this room" : "Rename room", action: "Save",
            name: room.visibleName ?? "", hint: "Leave it empty to have no name."
        ) { name in
            try await rooms.rename(room.id, to: name)
        }
    }
}

/// Creates a room with a person. The name is optional.
struct NewRoomScreen: View {
    let partner: Person
    let make: (String) async throws -> Void

    var body: some View {
        RoomNameForm(
            title: "New room with \(partner.displayName)", action: "Start",
            hint: "Without a name it is an unnamed room. You can name it later.", save: make)
    }
}

/// A form with a field for a name. It closes when the name is saved.
private struct RoomNameForm: View {
    let title: LocalizedStringKey
    let action: LocalizedStringKey
    @State var name = ""
    let hint: LocalizedStringKey
    let save: (String) async throws -> Void
    @State private var failure: String?
    @State private var isWaiting = false
    @Environment(\.dismiss) private var dismiss

    var body: some View {
        NavigationStack {
            Form {
                Section {
                    TextField("Unnamed room", text: $name)
                        .accessibilityLabel("Room name")
                        .submitLabel(.done)
                        .onSubmit { if mayBeSaved { Task { await submit() } } }
                } footer: {
                    if let failure { FailureLabel(failure) } else { Text(hint) }
                }
            }
            .navigationTitle(title)
            .navigationBarTitleDisplayMode(.inline)
            .toolbar {
                ToolbarItem(placement: .cancellationAction) { Button("Cancel") { dismiss() } }
                ToolbarItem(placement: .confirmationAction) {
                    Button(action) { Task { await submit() } }.disabled(!mayBeSaved)
                }
            }
        }
    }

    private var trimmedName: String { name.trimmingCharacters(in: .whitespacesAndNewlines) }

    private var mayBeSaved: Bool { !isWaiting && trimmedName.unicodeScalars.count <= Room.longestName }

    private func submit() async {
        isWaiting = true
        defer { isWaiting = false }
        failure = nil
        await $failure.catching {
            try await save(trimmedName)
            dismiss()
        }
    }
}
