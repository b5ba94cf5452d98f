/// What the page takes from `Clients/iOS`.
@MainActor final class BackgroundTime {
    func end() {}
}
