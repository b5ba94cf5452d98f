extension Duration {
    /// Minutes, seconds and tenths: `1:05.3`.
    var minutesText: String {
        let tenths = Int(self / .milliseconds(100))
        let seconds = tenths / 10 % 60
        return "\(tenths / 600):\(seconds < 10 ? "0" : "")\(seconds).\(tenths % 10)"
    }
}
