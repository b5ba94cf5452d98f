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
    @State private var saving: Task<Void, Never>?
    @Environment(\.dismiss) private var dismiss

    var body: some View {
        NavigationStack {
            Form {
                Section {
                    TextField("Unnamed room", text: $name)
                        .accessibilityLabel("Room name")
                        .submitLabel(.done)
                        .onSubmit { if mayBeSaved { submit() } }
                } footer: {
                    if let failure { FailureLabel(verbatim: failure) } else { Text(hint) }
                }
            }
            .navigationTitle(title)
            .navigationBarTitleDisplayMode(.inline)
            .toolbar {
                ToolbarItem(placement: .cancellationAction) { Button("Cancel") { dismiss() } }
                ToolbarItem(placement: .confirmationAction) {
                    Button(action) { submit() }.disabled(!mayBeSaved)
                }
            }
        }
        // The server may have received the request. Then the room appears in the list, and is not opened.
        .onDisappear { saving?.cancel() }
    }

    private var trimmedName: String { name.trimmingCharacters(in: .whitespacesAndNewlines) }

    private var mayBeSaved: Bool { saving == nil && trimmedName.unicodeScalars.count <= Room.longestName }

    private func submit() {
        failure = nil
        saving = Task {
            await $failure.catching {
                try await save(trimmedName)
                dismiss()
            }
            saving = nil
        }
    }
}
