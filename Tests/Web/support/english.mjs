// A document for the page's modules that only format texts. Its language is English.
globalThis.document = { documentElement: {} };
Object.defineProperty(globalThis, "navigator", { value: { languages: ["en"] } });
