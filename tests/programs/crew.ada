-- Ada: packages, generics, tagged types, exceptions with messages through many frames and out of a rendezvous, controlled
-- types finalized on the way, tasks with entries, a protected object, range checks. Counts its own calls.
-- gnatchop makes a file of each unit.
with Ada.Finalization;
package Crew is
   Empty, Burst : exception;
   type Guard (Number : Integer) is new Ada.Finalization.Limited_Controlled with null record;
   overriding procedure Finalize (Held : in out Guard);
   Released : Integer := 0;

   type Shape is abstract tagged record
      Size : Float;
   end record;
   function Area (Of_Shape : Shape) return Float is abstract;
   type Square is new Shape with null record;
   overriding function Area (Of_Shape : Square) return Float;
   type Circle is new Shape with null record;
   overriding function Area (Of_Shape : Circle) return Float;

   subtype Small is Integer range 0 .. 100;
   function Weigh (N : Integer) return Small;
   function Pack (Depth, N : Integer) return Integer;
   function Attempt (N : Integer) return String;
   function Step (N : Long_Integer) return Long_Integer;
   function Kind (N : Integer) return String;
   pragma No_Inline (Finalize);
   pragma No_Inline (Weigh);
   pragma No_Inline (Pack);
   pragma No_Inline (Attempt);
   pragma No_Inline (Step);
   pragma No_Inline (Kind);

   task type Worker is
      entry Start (From, To : Long_Integer);
      entry Result (Best : out Long_Integer);
   end Worker;

   type Function_Name is (Weigh_Name, Pack_Name, Attempt_Name, Step_Name, Kind_Name, Square_Name, Circle_Name, Finalize_Name);
   type Counts is array (Function_Name) of Long_Integer;
   protected Counters is
      procedure Count (Name : Function_Name);
      function Value (Name : Function_Name) return Long_Integer;
   private
      Calls : Counts := (others => 0);
   end Counters;
end Crew;

with Ada.Exceptions; use Ada.Exceptions;
package body Crew is
   protected body Counters is
      procedure Count (Name : Function_Name) is
      begin
         Calls (Name) := Calls (Name) + 1;
      end Count;
      function Value (Name : Function_Name) return Long_Integer is (Calls (Name));
   end Counters;

   overriding procedure Finalize (Held : in out Guard) is
   begin
      Counters.Count (Finalize_Name);
      Released := Released + Held.Number;
   end Finalize;

   overriding function Area (Of_Shape : Square) return Float is
   begin
      Counters.Count (Square_Name);
      return Of_Shape.Size ** 2;
   end Area;
   overriding function Area (Of_Shape : Circle) return Float is
   begin
      Counters.Count (Circle_Name);
      return 3.0 * Of_Shape.Size ** 2;
   end Area;

   function Weigh (N : Integer) return Small is
   begin
      Counters.Count (Weigh_Name);
      case N mod 7 is
         when 0 => raise Empty with "parcel" & N'Image & " is empty";
         when 3 => raise Burst;
         when 5 => return N * 50; -- mostly out of range
         when others => return N;
      end case;
   end Weigh;

   function Pack (Depth, N : Integer) return Integer is
      Held : Guard (Depth);
   begin
      Counters.Count (Pack_Name);
      if Depth = 0 then
         return Weigh (N);
      end if;
      return Pack (Depth - 1, N) + Held.Number;
   exception
      when Burst =>
         if Depth = 2 then
            raise Constraint_Error with "burst at" & N'Image;
         end if;
         raise;
   end Pack;

   function Attempt (N : Integer) return String is
   begin
      Counters.Count (Attempt_Name);
      return Pack (3, N)'Image;
   exception
      when E : Empty => return Exception_Message (E);
      when E : Constraint_Error =>
         return Exception_Name (E) & (if N mod 7 = 3 then ": " & Exception_Message (E) else "");
   end Attempt;

   function Step (N : Long_Integer) return Long_Integer is
   begin
      Counters.Count (Step_Name);
      return (if N mod 2 = 0 then N / 2 else 3 * N + 1);
   end Step;

   function Kind (N : Integer) return String is
   begin
      Counters.Count (Kind_Name);
      case N is
         when 1 => return "one";
         when 2 => return "two";
         when 3 | 5 | 7 => return "prime";
         when 4 => return "square";
         when 6 => return "perfect";
         when 8 .. 10 => return "large";
         when others => return "other";
      end case;
   end Kind;

   task body Worker is
      Low, High, Most : Long_Integer := 0;
   begin
      accept Start (From, To : Long_Integer) do
         Low := From;
         High := To;
         if To < From then
            raise Empty with "no work from" & From'Image;
         end if;
      end Start;
      for First in Low .. High loop
         declare
            N     : Long_Integer := First;
            Steps : Long_Integer := 0;
         begin
            while N /= 1 loop
               N := Step (N);
               Steps := Steps + 1;
            end loop;
            Most := Long_Integer'Max (Most, Steps);
         end;
      end loop;
      accept Result (Best : out Long_Integer) do
         Best := Most;
      end Result;
   exception
      when Empty => null;
   end Worker;
end Crew;

with Ada.Command_Line;
with Ada.Containers.Indefinite_Ordered_Maps;
with Ada.Exceptions; use Ada.Exceptions;
with Ada.Text_IO;    use Ada.Text_IO;
with Crew;           use Crew;
procedure Crew_Main is
   package Word_Counts is new Ada.Containers.Indefinite_Ordered_Maps (String, Positive);
   Words   : Word_Counts.Map;
   Text    : constant String := "the quick brown fox jumps over the lazy dog and the brown cat ";
   First   : Positive := Text'First;
   Workers : array (1 .. 6) of Worker;
   Best    : Long_Integer;
   Total   : Float := 0.0;

   procedure Print_Calls (Name : String; Number : Function_Name) is
   begin
      Put_Line ("calls crew__" & Name & Counters.Value (Number)'Image);
   end Print_Calls;
begin
   for N in 1 .. 30 loop
      Put_Line (Attempt (N));
   end loop;
   Put_Line ("released" & Released'Image);
   for I in Text'Range loop
      if Text (I) = ' ' then
         declare
            Word : constant String := Text (First .. I - 1);
         begin
            if Words.Contains (Word) then
               Words (Word) := Words (Word) + 1;
            else
               Words.Insert (Word, 1);
            end if;
            First := I + 1;
         end;
      end if;
   end loop;
   for Position in Words.Iterate loop
      Put (Word_Counts.Key (Position) & Word_Counts.Element (Position)'Image & " ");
   end loop;
   New_Line;
   for N in 1 .. 20 loop
      declare
         One : constant Shape'Class :=
           (if N mod 3 = 0 then Shape'Class (Square'(Size => Float (N))) else Shape'Class (Circle'(Size => Float (N))));
      begin
         Total := Total + Area (One);
      end;
   end loop;
   Put_Line (Total'Image);
   for N in 0 .. 12 loop
      Put (Kind (N) & " ");
   end loop;
   New_Line;

   for I in Workers'Range loop
      begin
         Workers (I).Start (Long_Integer (I) * 100, (if I = 4 then 0 else Long_Integer (I) * 100 + 50));
      exception
         when E : Empty => Put_Line (Exception_Message (E));
      end;
   end loop;
   for I in Workers'Range loop
      if I /= 4 then
         Workers (I).Result (Best);
         Put_Line (Best'Image);
      end if;
   end loop;

   Print_Calls ("weigh", Weigh_Name);
   Print_Calls ("pack", Pack_Name);
   Print_Calls ("attempt", Attempt_Name);
   Print_Calls ("step", Step_Name);
   Print_Calls ("kind", Kind_Name);
   Print_Calls ("area__2", Square_Name);
   Print_Calls ("area__3", Circle_Name);
   Print_Calls ("finalize", Finalize_Name);
   Ada.Command_Line.Set_Exit_Status (6);
end Crew_Main;
