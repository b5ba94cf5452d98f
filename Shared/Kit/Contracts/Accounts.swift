extension LogID {
    public static let accounts = LogID("accounts")
}
