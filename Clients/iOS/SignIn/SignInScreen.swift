import ParlorClient
import SwiftUI

/// The screen for signing in or creating an account. It also appears when the server has ended the session.
struct SignInScreen: View {
    let account: ParlorAccount
    @State private var isNew = false
    @State private var username = ""
    @State private var password = ""
    @State private var firstName = ""
    @State private var failure: String?
    @State private var isWaiting = false

    var body: some View {
        NavigationStack {
            Form {
                Section {
                    fields
                } footer: {
                    footer
                }
                Section {
                    Button {
                        Task { await submit() }
                    } label: {
                        HStack {
                            Text(isNew ? "Create account" : "Sign in")
                            Spacer()
                            if isWaiting { ProgressView() }
                        }
                    }
                    .disabled(!isComplete || isWaiting)
                    Button(isNew ? "I have an account" : "Create an account") { isNew.toggle() }
                        .disabled(isWaiting)
                }
            }
            .navigationTitle(isNew ? "New account" : "Sign in")
            .onSubmit { if isComplete, !isWaiting { Task { await submit() } } }
            .onAppear { username = account.client?.user.username ?? username }
            .onChange(of: isNew) { failure = nil }
        }
    }

    @ViewBuilder private var fields: some View {
        TextField(isNew ? "Username" : "Username or e-mail", text: $username)
            .textContentType(.username)
            .textInputAutocapitalization(.never)
            .autocorrectionDisabled()
        SecureField("Password", text: $password)
            .textContentType(isNew ? .newPassword : .password)
            .submitLabel(.go)
        if isNew {
            TextField("First name (optional)", text: $firstName)
                .textContentType(.givenName)
        }
    }

    @ViewBuilder private var footer: some View {
        if let failure {
            FailureLabel(verbatim: failure)
        } else if isNew {
            Text("A username has 3 to 32 letters, digits, or _ . - and a password has at least 8 characters.")
        } else if account.client != nil {
            Text("Your session has ended. What you have written is sent when you sign in again.")
        }
    }

    /// True if no required field is empty. The server checks the rest, and says what is wrong with it.
    private var isComplete: Bool { !username.isEmpty && !password.isEmpty }

    private func submit() async {
        isWaiting = true
        defer { isWaiting = false }
        failure = nil
        // The keyboard adds a space after a word that it suggests.
        let username = username.trimmingCharacters(in: .whitespaces)
        await $failure.catching {
            if isNew {
                try await account.register(username: username, password: password, firstName: firstName)
            } else {
                try await account.signIn(username: username, password: password)
            }
        }
    }
}
