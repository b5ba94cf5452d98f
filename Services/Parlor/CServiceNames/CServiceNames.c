#include "CServiceNames.h"

const char *parlor_services(void) { return PARLOR_SERVICES; }
