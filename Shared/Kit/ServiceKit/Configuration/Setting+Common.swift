extension Setting {
    // Settings that more than one program has. Those of one service stand in its own declaration.

    public static let host = Setting("HOST", .text, default: "127.0.0.1", "The address to listen on")
    public static let port = Setting("PORT", .port, default: "8080", "The port to listen on; 0 picks a free one")
    public static let data = Setting(
        "DATA_DIR", flag: "--data", .path, default: "./data", "The folder for databases and secrets")
    public static let bus = Setting(
        "BUS_URL", flag: "--bus", .text, default: "tcp://127.0.0.1:4150",
        "Where the bus is: tcp://HOST:PORT, or nats://HOST:PORT for a NATS server")
    public static let busTokenFile = Setting(
        "BUS_TOKEN_FILE", .path, default: "", "A file with the token that the bus wants; none by default")
    public static let databaseURL = Setting(
        "DATABASE_URL", .text, default: "",
        "The database: sqlite:FILE, sqlite:FOLDER/ or postgres://USER@HOST/DATABASE; by default a file in the data folder"
    )
    public static let crashAt = Setting(
        "CRASH_AT", .crashPoint, default: "",
        "Where the process kills itself, as after-commit:37; for tests of recovery, never otherwise")
    public static let clockOffsetFile = Setting(
        "CLOCK_OFFSET_FILE", .path, default: "",
        "A file with the milliseconds that this process' clock is off; for tests, never otherwise")
    public static let jwtSecretFile = Setting(
        "JWT_SECRET_FILE", .path, default: "",
        "The key that signs tokens; by default jwt.secret in the data folder, made on first start")
    public static let rateLimits = Setting(
        "RATE_LIMITS", .choice(["on", "off"]), default: "on",
        "Whether what a person and an address may do is limited; off for tests")
    public static let logLevel = Setting(
        "LOG_LEVEL", .choice(["debug", "info", "warning", "error"]), default: "info",
        "What is logged, to standard error")
    public static let logFormat = Setting(
        "LOG_FORMAT", .choice(["auto", "text", "json"]), default: "auto",
        "auto: text on a terminal, JSON lines otherwise")
    public static let operationsPort = Setting(
        "OPS_PORT", .port, default: "", "A port for /healthz, /readyz and /metrics of this process; none by default")
    public static let operationsHost = Setting(
        "OPS_HOST", .text, default: "127.0.0.1", "The address of that port; it needs no login, so keep it inside")
    public static let loops = Setting(
        "LOOPS", .number(0...256), default: "0", "Event loops, each a thread; 0: one for each core")

    /// What every program has.
    public static let everywhere = [logLevel, logFormat, clockOffsetFile]
}
