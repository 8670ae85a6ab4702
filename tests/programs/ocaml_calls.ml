(* An OCaml program that prints its own calls: exceptions of all kinds, collections, callbacks from C, closures, threads,
   signals, a stack that overflows, backtraces. *)

let counts : (string, int) Hashtbl.t = Hashtbl.create 16
let called name = Hashtbl.replace counts name (1 + try Hashtbl.find counts name with Not_found -> 0)

exception Found of int list

let rec tree n = called "tree"; if n = 0 then [ n ] else tree (n - 1) @ tree (n - 2 |> max 0)
[@@inline never]

let search limit list =
  called "search";
  try
    List.iteri (fun i x -> if i = limit then raise (Found [ i; x ])) list;
    []
  with Found l -> l
[@@inline never]

let quick n = called "quick"; if n land 1 = 0 then raise_notrace Exit else n
[@@inline never]

let guarded f n = called "guarded"; try f n with Exit -> -n
[@@inline never]

let depth_calls = ref 0
let rec depth n = incr depth_calls; 1 + depth (n + 1)
[@@inline never]

(* When a stack overflows, OCaml 4.13 forgets what was allocated since C was called last; so nothing is. *)
let overflow () = called "overflow"; Gc.minor (); match depth 0 with _ -> "no" | exception Stack_overflow -> "overflow"
[@@inline never]

let failing n = called "failing"; if n > 2 then failwith "failing" else List.nth [ 0; 1 ] n
[@@inline never]

let compare_ints a b = called "compare_ints"; compare (a : int) b
[@@inline never]

let finalised = ref 0
let on_final _ = called "on_final"; incr finalised
[@@inline never]

let floats n = called "floats"; Array.fold_left ( +. ) 0.0 (Array.init n (fun i -> sqrt (float i)))
[@@inline never]

let () =
  Printexc.record_backtrace true;
  Printf.printf "%d\n" (List.length (tree 18));
  for i = 1 to 300 do
    ignore (search (i mod 7) [ 1; 2; 3; 4; 5 ]);
    ignore (guarded quick i)
  done;
  Printf.printf "%d\n" (List.fold_left ( + ) 0 (List.concat_map (fun i -> search i (tree i)) [ 3; 4; 9 ]));
  let a = Array.init 5000 (fun i -> (i * 7919) land 4095) in
  Array.sort compare_ints a;
  Array.stable_sort compare_ints a;
  Printf.printf "%d %.3f\n" a.(2500) (floats 10000);
  for i = 1 to 20 do
    let block = ref (String.make 1000 (Char.chr (64 + i))) in
    Gc.finalise on_final block
  done;
  Gc.full_major ();
  Gc.compact ();
  Printf.printf "%b\n" (!finalised > 0);
  (try ignore (failing 3) with
  | Failure _ -> print_string (Printexc.get_backtrace ()));
  (try ignore (failing 2) with
  | e -> Printf.printf "%s\n%s" (Printexc.to_string e) (Printexc.get_backtrace ()));
  if Array.length Sys.argv > 1 then print_endline (overflow ());
  let copy : int -> int = Marshal.from_string (Marshal.to_string (fun x -> x + Array.length a) [ Marshal.Closures ]) 0 in
  Printf.printf "%d %b\n" (copy 1) (try compare (fun x -> x + 1) (fun x -> x + 2) = 0 with Invalid_argument _ -> true);
  let ticks = ref 0 in
  Sys.set_signal Sys.sigusr1 (Sys.Signal_handle (fun _ -> incr ticks; ignore (guarded quick 4)));
  for _ = 1 to 5 do
    Unix.kill (Unix.getpid ()) Sys.sigusr1;
    ignore (tree 10)
  done;
  Printf.printf "%d\n" !ticks;
  let m = Mutex.create () and sum = ref 0 in
  let work k =
    for i = 1 to 50 do
      let l = List.length (List.init (k * i) (fun j -> string_of_int j)) in
      Mutex.lock m;
      sum := !sum + l + guarded quick i;
      Mutex.unlock m;
      Thread.yield ()
    done
  in
  List.iter Thread.join (List.init 4 (fun k -> Thread.create work k));
  Printf.printf "%d\n" !sum;
  Hashtbl.fold (fun name n l -> (name, n) :: l) counts []
  |> List.sort compare
  |> List.iter (fun (name, n) -> Printf.printf "calls %s %d\n" name n);
  Printf.printf "calls depth %d\n" !depth_calls
