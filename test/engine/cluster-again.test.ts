import { losesNothing } from "./cluster-property.ts";

/** The other half of the runs, for the other worker. */
losesNothing();
