/// Returns the names of the services in Package.swift, with a space between two.
const char *_Nonnull parlor_services(void);
