// Number of species of this run: the length of the tables in the policies' constants.
#pragma once

#ifndef SPECIES_COUNT
#define SPECIES_COUNT 1
#endif
