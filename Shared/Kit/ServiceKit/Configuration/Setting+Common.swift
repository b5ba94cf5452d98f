import ParlorContracts
import ParlorMessageBus
import ParlorStorage

// Settings of more than one program. Those of one service are in its own declaration.

extension Setting where Value == String {
    public static var host: Setting {
        Setting("HOST", .text, default: "127.0.0.1", in: .listen, "The address to listen on")
    }
    public static var data: Setting {
        Setting(
            "DATA_DIR", flag: "--data", .path, default: "./data", in: .storage, "The folder for databases and secrets")
    }
}

extension Setting where Value == String? {
    public static var busTokenFile: Setting {
        Setting("BUS_TOKEN_FILE", .path, in: .bus, "File with the token for the bus")
    }
    public static var databaseURL: Setting {
        Setting(
            "DATABASE_URL", .text, in: .storage, unset: "files in the data folder",
            "Database address: sqlite:FILE, sqlite:FOLDER/ or postgres://USER@HOST/DATABASE")
    }
    public static var jwtSecretFile: Setting {
        Setting(
            "JWT_SECRET_FILE", .path, in: .storage, unset: "jwt.secret in the data folder, created on first start",
            "File with the key that signs tokens")
    }
    static var clockOffsetFile: Setting {
        Setting(
            "CLOCK_OFFSET_FILE", .path, in: .faults, "File with the offset of this process's clock, in milliseconds")
    }
}

extension Setting where Value == UInt16 {
    public static var port: Setting {
        Setting("PORT", .port, default: "8080", in: .listen, "The port to listen on; 0 picks a free one")
    }
}

extension Setting where Value == Bool {
    public static var rateLimits: Setting {
        Setting(
            "RATE_LIMITS", .onOrOff, default: "on", in: .tests, "Rate limits and quotas per person and address")
    }
    static var testing: Setting {
        Setting("TESTING", .onOrOff, default: "off", in: .tests, "Accept settings that endanger real data")
    }
}

extension Setting where Value == [String] {
    public static var requiredServices: Setting {
        Setting(
            "REQUIRED_SERVICES", .services, default: "accounts,rooms,messaging,elements", in: .bus,
            "Services that must be available: /readyz requires them, sockets and lists of rooms get 503 until each has announced itself, and each that caches rooms' people has to confirm a change of them"
        )
    }
}

extension Setting where Value == Int? {
    static var loops: Setting {
        Setting(
            "LOOPS", .number(1...256), in: .process, unset: "auto",
            "Number of event loops, each a thread; auto: one per core")
    }
}

extension Setting where Value == Int {
    public static var logs: Setting {
        Setting(
            "LOGS", .number(LogLayout.range), default: "1", in: .storage,
            "Number of event logs over which rooms are spread; commits to different logs do not wait for each other. More "
                + "than 1 need PostgreSQL. With another number clients load everything once")
    }
}

extension Setting where Value == BusURL {
    static var bus: Setting {
        Setting(
            "BUS_URL", flag: "--bus", .bus, default: "tcp://127.0.0.1:4150", in: .bus,
            "Address of the bus: tcp://HOST:PORT, or nats://HOST:PORT for a NATS server")
    }
}

extension Setting where Value == CrashPoint? {
    static var crashAt: Setting {
        Setting("CRASH_AT", .crashPoint, in: .faults, "Kill the process at this point, such as after-commit:37")
    }
}

extension Setting where Value == Logger.Level {
    static var logLevel: Setting {
        Setting(
            "LOG_LEVEL", .choice(Logger.Level.allCases) { $0.name }, default: "info", in: .process,
            "Lowest level that is logged to standard error: debug, info, warning or error")
    }
}

extension Setting where Value == Logger.FormatChoice {
    static var logFormat: Setting {
        Setting(
            "LOG_FORMAT", .choice(Logger.FormatChoice.self), default: "auto", in: .process,
            "Form of log lines: text, json, or auto (text on a terminal, JSON lines otherwise)")
    }
}
