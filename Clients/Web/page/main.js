import { Parlor } from "../parlor/parlor.js";
import { begin } from "./app.js";

begin(new Parlor({ server: "" }));
