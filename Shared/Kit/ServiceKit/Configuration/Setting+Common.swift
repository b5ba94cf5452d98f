import MessageBus
import Storage

// Settings that more than one program has. Those of one service stand in its own declaration.

extension Setting where Value == String {
    public static var host: Setting {
        Setting("HOST", .text, default: "127.0.0.1", "The address to listen on")
    }
    public static var data: Setting {
        Setting("DATA_DIR", flag: "--data", .path, default: "./data", "The folder for databases and secrets")
    }
}

extension Setting where Value == String? {
    public static var busTokenFile: Setting {
        Setting("BUS_TOKEN_FILE", .path, "A file with the token that the bus wants; none by default")
    }
    public static var databaseURL: Setting {
        Setting(
            "DATABASE_URL", .text,
            "The database: sqlite:FILE, sqlite:FOLDER/ or postgres://USER@HOST/DATABASE; by default a file in the data folder"
        )
    }
    public static var jwtSecretFile: Setting {
        Setting(
            "JWT_SECRET_FILE", .path,
            "The key that signs tokens; by default jwt.secret in the data folder, made on first start")
    }
    static var clockOffsetFile: Setting {
        Setting(
            "CLOCK_OFFSET_FILE", .path,
            "A file with the milliseconds that this process' clock is off; for tests, never otherwise")
    }
}

extension Setting where Value == UInt16 {
    public static var port: Setting {
        Setting("PORT", .port, default: "8080", "The port to listen on; 0 picks a free one")
    }
}

extension Setting where Value == Bool {
    public static var rateLimits: Setting {
        Setting(
            "RATE_LIMITS", .onOrOff, default: "on",
            "Whether what a person and an address may do is limited; off for tests")
    }
}

extension Setting where Value == Int {
    public static var loops: Setting {
        Setting("LOOPS", .number(0...256), default: "0", "Event loops, each a thread; 0: one for each core")
    }
}

extension Setting where Value == BusURL {
    static var bus: Setting {
        Setting(
            "BUS_URL", flag: "--bus", .bus, default: "tcp://127.0.0.1:4150",
            "Where the bus is: tcp://HOST:PORT, or nats://HOST:PORT for a NATS server")
    }
}

extension Setting where Value == CrashPoint? {
    static var crashAt: Setting {
        Setting(
            "CRASH_AT", .crashPoint,
            "Where the process kills itself, as after-commit:37; for tests of recovery, never otherwise")
    }
}

extension Setting where Value == Logger.Level {
    static var logLevel: Setting {
        Setting(
            "LOG_LEVEL", .choice(Logger.Level.allCases) { $0.name }, default: "info",
            "What is logged, to standard error")
    }
}

extension Setting where Value == Logger.FormatChoice {
    static var logFormat: Setting {
        Setting(
            "LOG_FORMAT", .choice(Logger.FormatChoice.self), default: "auto",
            "auto: text on a terminal, JSON lines otherwise")
    }
}
